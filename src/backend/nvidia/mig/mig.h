// SPDX-License-Identifier: Apache-2.0
// MIG: a GPU divided into instances, each with a UUID, a profile, and device nodes of its own that
// open it. Plain data; any thread.
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
  unsigned index = 0;  // NVML's, of those of the GPU
  nvml::DeviceAttributes attributes{};
  bool known = true;  // false: what its profile has besides its size cannot be told
  bool operator==(const MigDevice&) const = default;
};

// The GPU's MIG devices; none where it is not in MIG mode.
struct Mig {
  bool enabled = false;
  std::vector<MigDevice> devices{};
  bool operator==(const Mig&) const = default;
  // Why none of them is of use, to stand behind "GPU 3 ": one has a profile that is not known, and
  // nobody knows what the GPU is then. Empty: nothing is the matter.
  std::string Trouble() const;
};
nvml::Answer<Mig> ReadMig(const nvml::Library& library, nvml::DeviceHandle gpu);

// The profile's name, as NVIDIA's tools have it: "1g.10gb", with less compute than memory
// "1c.2g.20gb", and "1g.10gb+me" where it is one of the GPU instance profiles (by NVML's number)
// with an attribute.
std::string ProfileName(const nvml::DeviceAttributes& attributes, uint64_t gpu_memory_bytes,
                        std::optional<unsigned> gpu_instance_profile);

// The nodes that open a MIG device of the GPU with that minor number, by the driver's list of them
// (/proc/driver/nvidia-caps/mig-minors); fewer than two where it does not have them.
std::vector<std::string> CapabilityNodes(std::string_view mig_minors, unsigned gpu_minor,
                                         const MigDevice& device);

}  // namespace tessera::nvidia
