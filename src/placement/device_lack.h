// SPDX-License-Identifier: Apache-2.0
// Why devices do not fit a container, and the reason that is reported for their node. Pure. Plain
// data. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "placement/candidate_device.h"

namespace tessera {

// Why a node does not fit a pod. Nodes with the same reason have the same text, so reasons can be
// counted.
struct Misfit {
  std::string_view why;
  // True if the end of other pods may help.
  bool passes = false;
  bool operator==(const Misfit&) const = default;
};

// In the order of the checks; a device has the first that applies. A later lack is nearer to having
// room.
enum class Lack : uint8_t {
  kHealth,
  kCordon,
  kType,
  kMode,
  kId,
  kSize,  // the whole device is smaller than the request
  // The request has several devices and only a part of this one.
  kParts,
  // From here on, the end of other pods may help.
  kUnclear,
  kContainers,
  kAlone,
  kEqualParts,
  kMemory,
  kCores,
  kSlice,
  kNothing,
};

// For fewer than `count` devices with room: the most advanced lack that the node must overcome.
// That is the `count`-th device's, with devices nearest to room first. Fewer devices than `count`
// is a reason of its own.
Misfit MisfitOf(std::vector<Lack> lacks, size_t count);

// For enough devices with room that may not be combined. `groups`: each device's group (GroupOf).
Misfit ApartMisfitOf(std::span<const Lack> lacks, std::span<const int32_t> groups, size_t count,
                     Together together);

}  // namespace tessera
