// SPDX-License-Identifier: Apache-2.0
// A device of a node as it can be chosen for a pod, and what others have of it. Plain data; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "placement/capacity.h"
#include "placement/requests.h"
#include "placement/slices.h"

namespace tessera {

struct CandidateDevice {
  DeviceCapacity capacity{};
  DeviceUsage used{};
  std::string type{};  // its model
  std::string mode{};  // how it is divided; empty: that is not said
  uint32_t index = 0;  // as its driver counts
  int32_t numa = 0;
  int32_t group = -1;  // of those that it belongs to; -1: of none
  uint8_t kind = 0;    // of several kinds of devices on a node, by the numbers of whoever has them
  bool healthy = true;
  bool cordoned = false;
  // In which sizes parts of it can be had; empty: in any.
  std::vector<SliceProfile> profiles{};
  // Pods have something of it, and nobody can tell which slices.
  bool unclear = false;
  // How close it is to each of the node's devices, by their places among them; empty: not known.
  std::vector<int64_t> closeness{};
};

// Which of a node's devices can be together in a container.
enum class Together : uint8_t {
  kAnywhere,
  kOneNuma,   // all of them at one NUMA node
  kOneGroup,  // all of them of one group
  kPairs,     // of a group of two, both
};
inline int32_t GroupOf(const CandidateDevice& device, Together together) {
  return together == Together::kOneNuma ? device.numa : device.group;
}

// All of a device, as something that is used.
inline DeviceUsage AllOf(const DeviceCapacity& capacity) {
  return {capacity.containers, capacity.memory, capacity.cores};
}

}  // namespace tessera
