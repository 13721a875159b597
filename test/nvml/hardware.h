// SPDX-License-Identifier: Apache-2.0
// A node with NVIDIA GPUs, as a YAML file describes it (demo/hardware/). Memory in MiB. Plain data.
//
//   driver: "570.172.08"
//   cuda: "12.8"             # the driver's newest version; without: NVML does not support the call
//   machine: DGX-1           # the firmware's product name; without: it has none
//   defaults: {model: NVIDIA A100-SXM4-80GB, memory: 81920, compute: "8.0"}   # of every GPU
//   platform: tegra          # or wsl; the node gets the files by which it is recognized
//   gpus:
//   - uuid: GPU-...            # without: made from the GPU's place in the list
//     pci: "0000:07:00.0"     # only a Tegra may omit it: its GPU is part of the processor, and
//                              # NVML reports neither address nor minor number
//     minor: 0                 # without: its place in the list
//     numa: 3                  # without: unknown
//     pcie: [bridge, switch]   # the path from the processor to the GPU
//     class: "0x030200"        # PCI's; without: sysfs has no class and no configuration space
//     vgpu: {version: "550.90.05", branch: r550_00}   # a virtual GPU; its host's driver
//     fabric: {cluster: 5e1f..., clique: 3}   # 32 hex digits; also NVML's state and status,
//                              # without: 3 (completed) and 0 (success)
//     gauges: {temperature: 41, memory-temperature: 48, power: 71250, energy: 86400000,
//              utilization: 87, memory-utilization: 35, encoder: 4, decoder: 2,
//              sm-clock: 1980, memory-clock: 2619, pcie-replays: 1}   # in NVML's units: mW, mJ,
//                              # percent, MHz; without: NVML does not support the call
//     mig: off                 # MIG is disabled; a list: enabled; without: not supported
//     mig: [{profile: 1g.10gb, gi: 7, ci: 0, memory: 9984, uuid: MIG-...}]
//   switches: {pci: ["0000:c4:00.0"], links: 12}   # NVSwitches, and each GPU's links to them
//   links: [[0, 1, 2]]         # GPUs 0 and 1 have two NVLinks between them
//   profiles:                  # GPU instance profiles, by NVML's number; id: nvidia-smi's
//   - {profile: 0, id: 19, slices: 1, instances: 7, memory: 9984}
//     # optional: multiprocessors, copy, decoders, encoders, jpeg, ofa of such a MIG device
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/nvidia/nvml/api.h"

namespace tessera::nvml {

struct MigInstance {
  std::string uuid;
  std::string profile;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  DeviceAttributes attributes{};
};

struct NvLink {
  NvLinkRemoteType type = NvLinkRemoteType::kUnknown;
  PciInfo remote{};
};

struct VgpuHost {
  std::string version;
  std::string branch;
};

struct HardwareGpu {
  std::string uuid;
  std::string model;
  unsigned minor = 0;
  int numa = -1;
  PciInfo pci{};
  bool integrated = false;        // part of a Tegra's processor: no PCI address, no /dev/nvidia<N>
  std::vector<std::string> pcie;  // from the processor to the GPU
  std::string pci_class;          // empty: sysfs has none
  std::optional<VgpuHost> vgpu;
  std::optional<GpuFabricInfo> fabric;
  std::map<std::string, uint64_t> gauges;
  uint64_t memory_mib = 0;
  int compute_major = 0;
  int compute_minor = 0;
  bool mig_capable = false;
  bool mig_enabled = false;
  std::vector<MigInstance> mig;
  std::vector<NvLink> links;
};

struct Hardware {
  std::string driver;
  int cuda = 0;            // 12080; 0: NVML does not report it
  std::string machine{};   // empty: the firmware has no name
  std::string platform{};  // "tegra", "wsl"; empty: neither
  std::vector<HardwareGpu> gpus;
  std::map<unsigned, GpuInstanceProfileInfo> profiles;  // by NVML's number
};

// Throws std::runtime_error, with the line where it is known, also for any unknown key.
Hardware ParseHardware(const std::string& yaml);

// NVML's level of the nearest common ancestor, from the GPUs' `pcie` and `numa`.
TopologyLevel CommonAncestor(const HardwareGpu& a, const HardwareGpu& b);

}  // namespace tessera::nvml
