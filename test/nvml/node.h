// SPDX-License-Identifier: Apache-2.0
// The files of a node with NVIDIA GPUs, below a directory, as the fake NVML needs them: device
// nodes (as plain files), what sysfs tells about NUMA, which device nodes are whose MIG instances,
// the description and what is wrong. Every file is replaced whole. Any thread, but one a directory.
#pragma once

#include <string>
#include <vector>

#include "nvml/hardware.h"

namespace tessera::nvml {

// Where the library is, and what it reads, below the directory.
inline constexpr char kLibraryPath[] = "/usr/lib64/libnvidia-ml.so.1";
inline constexpr char kDescriptionPath[] = "/usr/lib64/fake-nvml.yaml";
inline constexpr char kFaultsPath[] = "/usr/lib64/fake-nvml.yaml.faults";

// A GPU or a MIG device, for people.
struct NodeDevice {
  std::string index;  // "6", "6:0"; "6:-" for one that goes
  std::string uuid;
  std::string name;         // the model, or the profile
  uint64_t memory_mib = 0;  // of a GPU that is told apart
};

// All of these throw std::runtime_error.

// `yaml` as in hardware.h. Files of GPUs that are there no more stay. For WSL the library has to be
// there: a copy of it is WSL's own, of which only its being there matters.
Hardware MakeNode(const std::string& directory, const std::string& yaml);
// `yaml` as in faults.h.
void SetFaults(const std::string& directory, const std::string& yaml);
// The description once the GPUs in `mig` are divided anew; `mig` maps each to what stands behind
// "mig:" in a description.
std::string Divided(const std::string& description, const std::string& mig);
std::string DescriptionOf(const std::string& directory);

// In the order of NVML, the MIG devices of a GPU behind it; all GPUs of a Tegra are one, and of
// WSL.
std::vector<NodeDevice> DevicesOf(const Hardware& hardware);
// Those on GPUs of which the faults tell; all, when they are the driver's.
std::vector<NodeDevice> TouchedBy(const std::string& faults, const Hardware& hardware);
// Those on GPUs that are divided anew, as they were and as they will be.
std::vector<NodeDevice> TouchedByMig(const std::string& mig, const std::string& description);

}  // namespace tessera::nvml
