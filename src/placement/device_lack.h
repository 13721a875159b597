// SPDX-License-Identifier: Apache-2.0
// What devices lack for a container, and what of it is said of their node. Pure; plain data; any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

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
  kSize,  // it has less in all than is asked for
  // From here on pods that end may change it.
  kUnclear,
  kContainers,
  kAlone,
  kMemory,
  kCores,
  kSlice,
  kNothing,
};

// Where fewer devices than `count` lack nothing: that of the lacks which stands in the way even
// when all that are nearer to having room have it. A node with fewer devices lacks those.
Misfit MisfitOf(std::vector<Lack> lacks, size_t count);

// Where enough devices lack nothing, but not at one NUMA node. `numas`: of each device.
Misfit NumaMisfitOf(std::span<const Lack> lacks, std::span<const int32_t> numas, size_t count);

}  // namespace tessera
