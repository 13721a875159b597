// SPDX-License-Identifier: Apache-2.0
// The files of a node with NVIDIA GPUs, below a directory: device nodes (as plain files), sysfs and
// the minor numbers of MIG instances. The fake NVML's description and faults are among them. Each
// file is replaced by renaming. Any thread, but only one for each directory.
#pragma once

#include <string>
#include <vector>

#include "nvml/hardware.h"

namespace tessera::nvml {

// The library and the files that it reads, below the directory.
inline constexpr char kLibraryPath[] = "/usr/lib64/libnvidia-ml.so.1";
inline constexpr char kDescriptionPath[] = "/usr/lib64/fake-nvml.yaml";
inline constexpr char kFaultsPath[] = "/usr/lib64/fake-nvml.yaml.faults";

// A GPU or a MIG device, as `tessera-sim demo` prints it.
struct NodeDevice {
  std::string index;  // "6", "6:0"; "6:-" for a MIG device that goes
  std::string uuid;
  std::string name;         // the model, or the profile
  uint64_t memory_mib = 0;  // of a GPU that is a device of its own; else 0
};

// All of these throw std::runtime_error.

// Makes the files of the node that `yaml` (hardware.h) describes. Files of former GPUs stay. For
// WSL the fake library must exist: a copy of it stands for libdxcore.so, which is only looked for.
Hardware MakeNode(const std::string& directory, const std::string& yaml);
// `yaml` as in faults.h.
void SetFaults(const std::string& directory, const std::string& yaml);
// The description with another division of the GPUs in `mig`. `mig` maps each GPU to its value of
// the key "mig" in a description.
std::string Divided(const std::string& description, const std::string& mig);
std::string DescriptionOf(const std::string& directory);

// In NVML's order, each GPU followed by its MIG devices. All GPUs of a Tegra are one device, and so
// are those of WSL.
std::vector<NodeDevice> DevicesOf(const Hardware& hardware);
// The devices of the GPUs that the faults name; all devices, for faults of the whole driver.
std::vector<NodeDevice> TouchedBy(const std::string& faults, const Hardware& hardware);
// The devices of the GPUs that `mig` divides: those after the division, then those that go.
std::vector<NodeDevice> TouchedByMig(const std::string& mig, const std::string& description);

}  // namespace tessera::nvml
