// SPDX-License-Identifier: Apache-2.0
// A device of a node as a candidate for a pod, with its current usage. Plain data. Any thread.
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
  std::string type{};  // model
  std::string mode{};  // sharing mode; empty: not reported
  uint32_t index = 0;  // the driver's index
  int32_t numa = 0;
  int32_t group = -1;  // -1: no group
  // The vendor's number in the scheduler; 0 where there is only one vendor.
  uint8_t kind = 0;
  bool healthy = true;
  bool cordoned = false;
  // The sizes of its parts. Empty: any size.
  std::vector<SliceProfile> profiles{};
  // Pods use slices of it, but which ones is unknown.
  bool unclear = false;
  // Closeness to each of the node's devices, in their order. Empty: unknown.
  std::vector<int64_t> closeness{};
};

// Which of a node's devices may be combined in a container.
enum class Together : uint8_t {
  kAnywhere,
  kOneNuma,   // all at one NUMA node
  kOneGroup,  // all of one group
  kPairs,     // whole groups of two
};
inline int32_t GroupOf(const CandidateDevice& device, Together together) {
  return together == Together::kOneNuma ? device.numa : device.group;
}

// The usage of a whole device.
inline DeviceUsage AllOf(const DeviceCapacity& capacity) {
  return {capacity.containers, capacity.memory, capacity.cores};
}

}  // namespace tessera
