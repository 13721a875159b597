// SPDX-License-Identifier: Apache-2.0
// Which of the devices that have room a container gets. A policy is a row of functions that put
// them in order, and three things that it may demand besides. Whatever the order of the node's
// list, the same devices are chosen. Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "placement/candidate_device.h"

namespace tessera {

// How much each kind of use counts.
struct ScoreWeights {
  int64_t containers = 1;
  int64_t cores = 1;
  int64_t memory = 1;
  bool operator==(const ScoreWeights&) const = default;
};
// How much of all is used, 0 to 10 of each kind, with a float's precision: nodes and devices that
// are as full as each other to a scheduler that counts so are equal here. 0 where there is nothing
// of one of the kinds.
float ScoreOf(const DeviceUsage& used, const DeviceUsage& all, const ScoreWeights& weights = {});

// A device that has room, as policies see it.
struct RoomyDevice {
  size_t place = 0;  // among the node's devices
  const CandidateDevice* device = nullptr;
  float score = 0;  // of its use, what the pod has of it included
};

// What devices are put in order by: the least goes first.
using DeviceOrder = float (*)(const RoomyDevice&);
float EmptiestFirst(const RoomyDevice& device);
float FullestFirst(const RoomyDevice& device);
float HighestNumaFirst(const RoomyDevice& device);
float LowestNumaFirst(const RoomyDevice& device);

struct DevicePolicy {
  // The first that tells two devices apart decides; then their index, the highest first; then their
  // place, the last first.
  std::vector<DeviceOrder> keys{EmptiestFirst, HighestNumaFirst};
  // Only devices that no other container has at that time. Others may come to them later.
  bool alone = false;
  // At one NUMA node, or of one group: the first that has enough, as the order begins there.
  Together together = Together::kAnywhere;
  // A container's devices are those that are closest to each other, a single one that which is
  // farthest from the others; of equals those that go first.
  bool closest = false;
  // The same of several alone.
  bool several_closest = false;
  bool operator==(const DevicePolicy&) const = default;
};

// The best of them, in order. Nothing where there are not so many; or not so many
// together. A device may be there several times, as something of which several can be had.
std::optional<std::vector<RoomyDevice>> PickDevices(const DevicePolicy& policy, size_t count,
                                                    std::vector<RoomyDevice> devices);

}  // namespace tessera
