// SPDX-License-Identifier: Apache-2.0
// The MIG devices that HAMi's scheduler has reserved for a pod, with the instances that the node
// made: the value of kPodMigAllocations. Pure; plain data; any thread.
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

// An instance that the node made.
struct MigInstance {
  std::string uuid;  // "MIG-..."
  uint32_t gpu_instance = 0;
  uint32_t compute_instance = 0;
  bool operator==(const MigInstance&) const = default;
};

struct MigAllocation {
  int32_t container_index = 0;  // index in the pod's devices
  int32_t device_index = 0;     // index in the container's entry
  std::string gpu_uuid;
  std::string profile;  // "2g.10gb"
  MigPlacement placement{};
  std::optional<MigInstance> instance{};  // nothing: not made yet
  bool operator==(const MigAllocation&) const = default;
};

// Empty without allocations: the annotation is then absent.
std::string EncodeMigAllocations(std::span<const MigAllocation> allocations);
// Empty text has no allocations. Fails with kInvalid if the text is no such list, or two
// allocations are of the same device. An allocation without GPU, profile or placement is also
// kInvalid, as is one with only some of an instance's three ids.
Result<std::vector<MigAllocation>> DecodeMigAllocations(std::string_view text);

}  // namespace tessera::hami
