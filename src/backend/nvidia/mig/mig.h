// SPDX-License-Identifier: Apache-2.0
// MIG: a GPU divided into instances. Each has a UUID, a profile, and device nodes that open it.
// Plain data; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/nvidia/nvml/nvml.h"

namespace tessera::nvidia {

struct MigDevice {
  std::string uuid{};     // "MIG-..."
  std::string profile{};  // "1g.10gb"
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  unsigned index = 0;  // NVML's, among the GPU's devices
  nvml::DeviceAttributes attributes{};
  bool known = true;  // false: the profile's attributes besides its size cannot be read
  bool operator==(const MigDevice&) const = default;
};

// The GPU's MIG devices; none if it is not in MIG mode.
struct Mig {
  bool enabled = false;
  std::vector<MigDevice> devices{};
  bool operator==(const Mig&) const = default;
  // Why none of them can be used, as the rest of a sentence after "GPU 3 ". The reason is a device
  // with an unknown profile. Empty: no trouble.
  std::string Trouble() const;
};
nvml::Answer<Mig> ReadMig(const nvml::Library& library, nvml::DeviceHandle gpu);

// The profile's name, as NVIDIA's tools write it: "1g.10gb". With less compute than memory it is
// "1c.2g.20gb". A GPU instance profile (by NVML's number) with an attribute is "1g.10gb+me".
std::string ProfileName(const nvml::DeviceAttributes& attributes, uint64_t gpu_memory_bytes,
                        std::optional<unsigned> gpu_instance_profile);

// The nodes that open a MIG device of the GPU with that minor number. They come from the driver's
// list (/proc/driver/nvidia-caps/mig-minors). Fewer than two: the list lacks them.
std::vector<std::string> CapabilityNodes(std::string_view mig_minors, unsigned gpu_minor,
                                         const MigDevice& device);

}  // namespace tessera::nvidia
