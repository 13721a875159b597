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
  bool healthy = true;
  bool cordoned = false;
  // In which sizes parts of it can be had; empty: in any.
  std::vector<SliceProfile> profiles{};
  // Pods have something of it, and nobody can tell which slices.
  bool unclear = false;
  // How close it is to each of the node's devices, by their places among them; empty: not known.
  std::vector<int64_t> closeness{};
};

// All of a device, as something that is used.
inline DeviceUsage AllOf(const DeviceCapacity& capacity) {
  return {capacity.containers, capacity.memory, capacity.cores};
}

}  // namespace tessera
