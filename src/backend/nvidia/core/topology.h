// SPDX-License-Identifier: Apache-2.0
// How close the GPUs of a node are to each other: by NVLink, NVSwitch, PCIe and NUMA. Points are
// those of NVIDIA's device plugin 0.20. A link to an NVSwitch scores as a link to a GPU. Plain
// data; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/nvidia/nvml/nvml.h"
#include "device/device.h"

namespace tessera::nvidia {

// A GPU's NVLinks that are up.
struct NvLinks {
  std::map<std::string, int> to_gpus;  // the number, by the PCI address of the other end
  int to_switches = 0;
  bool operator==(const NvLinks&) const = default;
};
// Reads them; a link that cannot be read counts as down. May hang with the GPU.
NvLinks ReadNvLinks(const nvml::Library& library, nvml::DeviceHandle gpu);

// The address in sysfs' form, "0000:07:00.0".
std::string SysfsAddress(const nvml::PciInfo& pci);

// The closest levels to other GPUs, by their UUIDs.
using Levels = std::map<std::string, nvml::TopologyLevel>;
// `others`: NVML's index by UUID. A level that cannot be read counts as far. May hang with any of
// the GPUs.
Levels ReadLevels(const nvml::Library& library, unsigned gpu,
                  const std::map<std::string, unsigned>& others);

struct Gpu;

// The points from `gpu` to each other GPU, in natural order of their UUIDs.
std::vector<Link> LinksOf(const Gpu& gpu, const std::map<unsigned, Gpu>& gpus,
                          const Levels& levels);

}  // namespace tessera::nvidia
