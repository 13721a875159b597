// SPDX-License-Identifier: Apache-2.0
// The MIG devices that HAMi's scheduler has reserved for a pod, and what became of them on the
// node: the value of kPodMigAllocations. Pure; plain data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hami/mig_profile.h"

namespace tessera::hami {

// What the node made.
struct MigInstance {
  std::string uuid;  // "MIG-..."
  uint32_t gpu_instance = 0;
  uint32_t compute_instance = 0;
  bool operator==(const MigInstance&) const = default;
};

struct MigAllocation {
  int32_t container_index = 0;  // in the pod's devices
  int32_t device_index = 0;     // in the container's entry
  std::string gpu_uuid;
  std::string profile;  // "2g.10gb"
  MigPlacement placement{};
  std::optional<MigInstance> instance{};  // none: not made yet
  bool operator==(const MigAllocation&) const = default;
};

// Empty text without allocations: there is no such annotation.
std::string EncodeMigAllocations(std::span<const MigAllocation> allocations);
// None of empty text. kInvalid when it is not such a list, one lacks its GPU, profile or placement,
// has one of the three ids of an instance and not all, or two are of the same device.
Result<std::vector<MigAllocation>> DecodeMigAllocations(std::string_view text);

}  // namespace tessera::hami
