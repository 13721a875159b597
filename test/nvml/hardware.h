// SPDX-License-Identifier: Apache-2.0
// A node with NVIDIA GPUs as a YAML file describes it (demo/hardware/). Plain data.
//
//   driver: "570.172.08"
//   cuda: "12.8"             # the newest that the driver serves; else NVML does not tell
//   machine: DGX-1           # what the firmware calls it; else it does not say
//   defaults: {model: NVIDIA A100-SXM4-80GB, memory: 81920, compute: "8.0"}   # of every GPU
//   platform: tegra          # the files that tell of one are there; wsl: libdxcore.so, /dev/dxg
//   gpus:
//   - uuid: GPU-...            # else made from the GPU's place in the list
//     pci: "0000:07:00.0"     # on a Tegra it may be left out: the GPU is part of the processor,
//                              # and NVML tells neither this nor a minor number
//     minor: 0                 # else its place in the list
//     numa: 3                  # else none is known
//     pcie: [bridge, switch]   # what stands between it and the processor, from there
//     class: "0x030200"        # of PCI; else sysfs has neither that nor a configuration space
//     vgpu: {version: "550.90.05", branch: r550_00}   # it is a virtual one, of that host's driver
//     fabric: {cluster: 5e1f..., clique: 3}   # 32 hex digits; state and status as NVML has them,
//                              # 3 and 0 (completed, good) if nothing else is said
//     mig: off                 # it could be on; a list of instances: it is; neither: it cannot
//     mig: [{profile: 1g.10gb, gi: 7, ci: 0, memory: 9984, uuid: MIG-...}]
//   switches: {pci: ["0000:c4:00.0"], links: 12}   # NVSwitches, and each GPU's links to them
//   links: [[0, 1, 2]]         # GPUs 0 and 1 have two NVLinks between them
//   profiles:                  # GPU instance profiles, by NVML's number; id: nvidia-smi's
//   - {profile: 0, id: 19, slices: 1, instances: 7, memory: 9984}
//     # and of such a MIG device: multiprocessors, copy, decoders, encoders, jpeg, ofa
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
  bool integrated = false;  // it is no device of the bus, and has no node of its own
  std::vector<std::string> pcie;
  std::string pci_class;  // empty: sysfs knows nothing of it
  std::optional<VgpuHost> vgpu;
  std::optional<GpuFabricInfo> fabric;
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
  int cuda = 0;            // 12080; 0: NVML does not tell
  std::string machine{};   // empty: nobody says
  std::string platform{};  // "tegra", "wsl"; empty: neither
  std::vector<HardwareGpu> gpus;
  std::map<unsigned, GpuInstanceProfileInfo> profiles;  // by NVML's number
};

// Throws std::runtime_error, with the place in the text; so for any key that is none of these.
Hardware ParseHardware(const std::string& yaml);

TopologyLevel CommonAncestor(const HardwareGpu& a, const HardwareGpu& b);

}  // namespace tessera::nvml
