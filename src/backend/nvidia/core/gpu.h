// SPDX-License-Identifier: Apache-2.0
// A GPU as NVML describes it, and what a container needs to use it. Plain data; any thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/nvidia/core/nvidia_config.h"
#include "backend/nvidia/core/topology.h"
#include "backend/nvidia/mig/mig.h"
#include "backend/nvidia/nvml/nvml.h"
#include "device/device.h"
#include "os/files.h"

namespace tessera::nvidia {

// A path below a root, which may end with a slash.
std::string Below(std::string_view root, std::string_view path);

// The nodes that every GPU needs besides its own. Some exist only after a module was loaded.
inline constexpr std::array<std::string_view, 4> kSharedNodes = {
    "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"};

// The directory with the host's /dev, as the agent sees it. An agent in a container has it below
// the driver's root, or as its own /dev.
std::string DevTree(const os::Root& root, const NvidiaConfig& config);

// The node of the one IMEX channel that can be granted.
inline constexpr char kImexChannel[] = "/dev/nvidia-caps-imex-channels/channel0";
// The channel's node with its host path, if it is in DevTree or the agent's own /dev.
std::optional<DeviceNode> ImexNode(const os::Root& root, const NvidiaConfig& config);

// Adds the channel to the device, if it is configured and exists. A required channel that is
// missing is a defect.
void AddImex(const os::Root& root, const NvidiaConfig& config, Device& device);

struct Gpu {
  unsigned index = 0;               // NVML's, in the order of PCI addresses
  std::string uuid{};               // "GPU-8a1f1d3c-...": it never changes
  std::string model{};              // "NVIDIA A100-SXM4-80GB"
  std::optional<unsigned> minor{};  // of /dev/nvidia<minor>; none: it has no such node
  std::string pci{};                // in sysfs' form: "0000:07:00.0"; empty: not on the bus
  int numa = -1;                    // the closest NUMA node; negative: unknown
  int64_t memory = 0;               // MiB; 0: not read, or unknown
  NvLinks nvlinks{};
  Mig mig{};
  bool operator==(const Gpu&) const = default;
};

// Whether the GPU is part of the processor, by its name in NVML.
bool IsIntegrated(std::string_view model);

// Reads the GPU of this index from NVML and sysfs. May hang with the GPU. A GPU that is part of the
// processor needs only a name and a UUID.
nvml::Answer<Gpu> Read(const nvml::Library& library, const os::Root& root, unsigned index);

// The GPU's memory in MiB. `untold` if the driver cannot report it, as for a GPU without its own; 0
// if the call fails.
int64_t MemoryOf(const nvml::Library& library, unsigned index, int64_t untold = 0);

// Whether this GPU only drives a DGX Station's display.
bool IsDisplay(const Gpu& gpu);

// The GPU as a device of the resource. Its nodes are the existing shared ones, its own, and the
// IMEX channel, a defect if required and missing.
Device Describe(const os::Root& root, const std::string& resource, const NvidiaConfig& config,
                const Gpu& gpu);

// A MIG device of the GPU as a device of the resource. Its nodes are the GPU's and those that open
// the instance; a defect if the driver does not list these.
Device Describe(const os::Root& root, const std::string& resource, const NvidiaConfig& config,
                const Gpu& gpu, const MigDevice& mig);

// The resource's devices on this GPU: the GPU itself or its MIG devices (claims.h). All have a
// defect if one MIG device is in trouble. A family's device has the member resource as its source.
std::vector<Device> DevicesOfGpu(const os::Root& root, const std::string& resource,
                                 const NvidiaConfig& config, const Gpu& gpu);

// A GPU's Device::order is its NVML index times this. It exceeds the number of MIG devices on a
// GPU; their orders follow the GPU's.
inline constexpr int kOrderStep = 64;

// A GPU that has never answered, so its UUID is unknown. It counts as a device and cannot be
// granted, so a made-up id is enough.
Device DescribeUnknown(const std::string& resource, unsigned index, const std::string& why);

}  // namespace tessera::nvidia
