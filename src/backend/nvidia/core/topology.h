// SPDX-License-Identifier: Apache-2.0
// How close the GPUs of a node are to each other: by NVLink, by NVSwitch, by PCIe and by NUMA, in
// points as NVIDIA's device plugin 0.20 gives them, and for links to an NVSwitch as many as for
// links to each other. Plain data; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/nvidia/nvml/nvml.h"
#include "device/device.h"

namespace tessera::nvidia {

// A GPU's NVLinks that are up.
struct NvLinks {
  std::map<std::string, int> to_gpus;  // by the PCI address of the other end: how many
  int to_switches = 0;
  bool operator==(const NvLinks&) const = default;
};
// Links that cannot be read count as down. May hang with the GPU.
NvLinks ReadNvLinks(const nvml::Library& library, nvml::DeviceHandle gpu);

// As sysfs has it, "0000:07:00.0".
std::string SysfsAddress(const nvml::PciInfo& pci);

// What a GPU has in common with others, by their UUIDs.
using Levels = std::map<std::string, nvml::TopologyLevel>;
// Others by UUID: NVML's index. What cannot be read counts as far. May hang with any of them.
Levels ReadLevels(const nvml::Library& library, unsigned gpu,
                  const std::map<std::string, unsigned>& others);

struct Gpu;

// The points from `gpu` to each of the others, in natural order of their UUIDs.
std::vector<Link> LinksOf(const Gpu& gpu, const std::map<unsigned, Gpu>& gpus,
                          const Levels& levels);

}  // namespace tessera::nvidia
