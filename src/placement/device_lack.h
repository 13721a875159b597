// SPDX-License-Identifier: Apache-2.0
// What devices lack for a container, and what of it is said of their node. Pure; plain data; any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "placement/candidate_device.h"

namespace tessera {

// Why a node cannot have a pod. The texts are the same for all nodes that lack the same: they are
// counted by them.
struct Misfit {
  std::string_view why;
  // Pods that end may change that.
  bool passes = false;
  bool operator==(const Misfit&) const = default;
};

// In the order in which a device is looked at: the first is what it lacks. The later one is, the
// nearer the device is to having room.
enum class Lack : uint8_t {
  kHealth,
  kCordon,
  kType,
  kMode,
  kId,
  kSize,   // it has less in all than is asked for
  kParts,  // a part of it is asked for beside others
  // From here on pods that end may change it.
  kUnclear,
  kContainers,
  kAlone,
  kEqualParts,
  kMemory,
  kCores,
  kSlice,
  kNothing,
};

// Where fewer devices than `count` lack nothing: that of the lacks which stands in the way even
// when all that are nearer to having room have it. A node with fewer devices lacks those.
Misfit MisfitOf(std::vector<Lack> lacks, size_t count);

// Where enough devices lack nothing, but not together. `groups`: of each device (GroupOf).
Misfit ApartMisfitOf(std::span<const Lack> lacks, std::span<const int32_t> groups, size_t count,
                     Together together);

}  // namespace tessera
