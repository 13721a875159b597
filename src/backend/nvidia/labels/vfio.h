// SPDX-License-Identifier: Apache-2.0
// GPUs that are passed whole to virtual machines. The driver vfio-pci holds them, so NVML does not
// list them; labels use the PCI bus. No container of this agent can have one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/labeller.h"
#include "backend/nvidia/labels/labels.h"
#include "config/schema/config.h"
#include "os/files.h"

namespace tessera::nvidia {

// The model name of NVIDIA's device with this number in a PCI ids database (pci.ids); empty: none.
// Pure.
std::string ModelIn(std::string_view database, uint64_t device);

// The size in MiB of the device's largest window of 64-bit addresses, from its file `resource`; 0:
// it has none. Pure.
uint64_t LargestWindow(std::string_view resource);

// The GPUs that vfio-pci holds, in the order of their addresses. The database is looked for below
// the driver's root, which is the host's in a container, then below the root. Any thread.
std::vector<GpuFacts> ReadPassedThrough(const os::Root& root, const std::string& driver_root);

class VfioLabeller : public Labeller {
 public:
  // Takes the present time as the timestamp.
  explicit VfioLabeller(const config::Config& config);

  Result<Labels> Read() override;
  Labels WithoutDevices() override;

 private:
  const os::Root root_;
  const std::string driver_root_;
  const std::string machine_file_;
  const LabelPolicy policy_;
  const std::optional<int64_t> timestamp_;
};

}  // namespace tessera::nvidia
