// SPDX-License-Identifier: Apache-2.0
// GPUs that virtual machines are given whole: the driver vfio-pci has them, so that NVML does not
// know them, and labels tell of them what the PCI bus tells. No container of this agent can have
// one.
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

// The name that a PCI ids database (pci.ids) has for NVIDIA's device of this number; empty: none.
// Pure.
std::string ModelIn(std::string_view database, uint64_t device);

// The largest window of 64-bit addresses that the device has, in MiB, by its file `resource`; 0: it
// has none. Pure.
uint64_t LargestWindow(std::string_view resource);

// GPUs that vfio-pci has, in the order of their addresses. The database is looked for below the
// driver's root, where a container sees the host's, then below the root. Any thread.
std::vector<GpuFacts> ReadPassedThrough(const os::Root& root, const std::string& driver_root);

class VfioLabeller : public Labeller {
 public:
  // The timestamp is that of now.
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
