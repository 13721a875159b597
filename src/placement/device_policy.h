// SPDX-License-Identifier: Apache-2.0
// Picks a container's devices among those with room. A policy is a list of sort keys and three
// demands. The order of the node's list does not affect the choice. Pure. Plain data. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "placement/candidate_device.h"

namespace tessera {

// The weight of each kind of usage.
struct ScoreWeights {
  int64_t containers = 1;
  int64_t cores = 1;
  int64_t memory = 1;
  bool operator==(const ScoreWeights&) const = default;
};
// The usage score: for each kind 0 to 10 times its weight, added up. It is 0 if `all` lacks a kind.
// It is a float, so that nodes and devices compare equal exactly where they do for schedulers that
// compute with floats.
float ScoreOf(const DeviceUsage& used, const DeviceUsage& all, const ScoreWeights& weights = {});

// A device with room, as policies see it.
struct RoomyDevice {
  size_t place = 0;  // index among the node's devices
  const CandidateDevice* device = nullptr;
  float score = 0;  // ScoreOf its usage, including the pod's own
};

// A sort key. The lowest value comes first.
using DeviceOrder = float (*)(const RoomyDevice&);
float EmptiestFirst(const RoomyDevice& device);
float FullestFirst(const RoomyDevice& device);
float HighestNumaFirst(const RoomyDevice& device);
float LowestNumaFirst(const RoomyDevice& device);

struct DevicePolicy {
  // Sort keys, the most important first. Ties: the highest index first, then the last place.
  std::vector<DeviceOrder> keys{EmptiestFirst, HighestNumaFirst};
  // Only devices without other containers. Others may join later.
  bool alone = false;
  // The first group in sort order that has enough devices.
  Together together = Together::kAnywhere;
  // Prefer devices that are closest to each other; for a single device, the one farthest from the
  // others. Ties: sort order.
  bool closest = false;
  // `closest`, but only for several devices.
  bool several_closest = false;
  bool operator==(const DevicePolicy&) const = default;
};

// The best devices in sort order. Nothing if there are too few, or too few that may be combined. A
// device may be listed several times, once for each part of it. `searches`: the pod's containers
// that share the bound on the search for close devices.
std::optional<std::vector<RoomyDevice>> PickDevices(const DevicePolicy& policy, size_t count,
                                                    std::vector<RoomyDevice> devices,
                                                    size_t searches = 1);

}  // namespace tessera
