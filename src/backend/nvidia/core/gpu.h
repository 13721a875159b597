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

// A path below a root, with or without a slash at its end.
std::string Below(std::string_view root, std::string_view path);

// What every GPU needs besides its own node; some exist only once a module was loaded.
inline constexpr std::array<std::string_view, 4> kSharedNodes = {
    "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"};

// The directory whose /dev is the host's devices', as the agent sees it: an agent in a container
// has the host's below the driver's root, or in its own.
std::string DevTree(const os::Root& root, const NvidiaConfig& config);

// The node of the one IMEX channel that can be given out.
inline constexpr char kImexChannel[] = "/dev/nvidia-caps-imex-channels/channel0";
// Whether the node has it, where devices are looked up or in the agent's own /dev; as the host has
// it.
std::optional<DeviceNode> ImexNode(const os::Root& root, const NvidiaConfig& config);

// Adds the channel to the device where the configuration wants it and the node has it; a defect
// where it is required and missing.
void AddImex(const os::Root& root, const NvidiaConfig& config, Device& device);

struct Gpu {
  unsigned index = 0;               // NVML's, in the order of PCI addresses
  std::string uuid{};               // "GPU-8a1f1d3c-...": the same for ever
  std::string model{};              // "NVIDIA A100-SXM4-80GB"
  std::optional<unsigned> minor{};  // of /dev/nvidia<minor>; none: it has no such node
  std::string pci{};   // as sysfs has it: "0000:07:00.0"; empty: it is no device of the bus
  int numa = -1;       // the NUMA node that it is near to; negative: none is known
  int64_t memory = 0;  // MiB; 0: not asked for, or not told
  NvLinks nvlinks{};
  Mig mig{};
  bool operator==(const Gpu&) const = default;
};

// Whether it is part of the processor, by its name in NVML.
bool IsIntegrated(std::string_view model);

// What NVML and sysfs say about the GPU of this index. May hang with the GPU. Of one that is part
// of the processor its name and UUID are enough.
nvml::Answer<Gpu> Read(const nvml::Library& library, const os::Root& root, unsigned index);

// Its memory in MiB: `untold` where the driver has no way to tell, as of a GPU that has none of its
// own; 0 where it does not.
int64_t MemoryOf(const nvml::Library& library, unsigned index, int64_t untold = 0);

// Whether this is a GPU that drives a DGX Station's display and takes no work.
bool IsDisplay(const Gpu& gpu);

// The GPU as a device of the resource: the nodes that all GPUs share, as far as they are there,
// then its own, then the IMEX channel; a defect where that is required and missing. And its NUMA
// node.
Device Describe(const os::Root& root, const std::string& resource, const NvidiaConfig& config,
                const Gpu& gpu);

// A MIG device of the GPU as a device of the resource: the nodes of the GPU, and those that open
// the instance; a defect where the driver does not list them.
Device Describe(const os::Root& root, const std::string& resource, const NvidiaConfig& config,
                const Gpu& gpu, const MigDevice& mig);

// What the resource has of this GPU: the GPU itself, or MIG devices of it (claims.h), each with a
// defect where there is trouble with any of them. Of a family each device's source is the resource
// that it belongs to.
std::vector<Device> DevicesOfGpu(const os::Root& root, const std::string& resource,
                                 const NvidiaConfig& config, const Gpu& gpu);

// Device::order of a GPU is its index in NVML times this, which is more than the MIG devices that
// it can be divided into: theirs follow.
inline constexpr int kOrderStep = 64;

// A GPU that has never answered, so that its id is not known: it counts, and is of no use. Nobody
// can hold it, so its id may end with it.
Device DescribeUnknown(const std::string& resource, unsigned index, const std::string& why);

}  // namespace tessera::nvidia
