// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/gpu.h"

#include <fmt/core.h>

#include <charconv>

#include "backend/nvidia/core/claims.h"
#include "backend/pci_place.h"
#include "base/text.h"
#include "config/schema/family.h"

namespace tessera::nvidia {
namespace {

constexpr char kMigMinors[] = "/proc/driver/nvidia-caps/mig-minors";

int NumaNode(const os::Root& root, const std::string& pci) {
  const auto text = os::ReadFile(root.Path(fmt::format("/sys/bus/pci/devices/{}/numa_node", pci)));
  const std::string_view digits = text ? Trim(*text) : std::string_view();
  int node = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), node);
  return node;
}

bool IsCharDevice(const std::string& path) {
  const auto info = os::InspectTarget(path);
  return info && info->type == os::FileInfo::Type::kCharDevice;
}

// The device's name in containers.
std::string VisibleAs(const NvidiaConfig& config, const std::string& uuid,
                      const std::string& index) {
  return config.id_strategy == IdStrategy::kUuid ? uuid : index;
}

// All but the IMEX channel, which comes last.
Device DescribeBase(const os::Root& root, const std::string& resource, const NvidiaConfig& config,
                    const Gpu& gpu) {
  Device device;
  device.key = {resource, gpu.uuid};
  device.model = gpu.model;
  device.address = gpu.pci;
  device.visible_as = VisibleAs(config, gpu.uuid, std::to_string(gpu.index));
  device.order = static_cast<int>(gpu.index) * kOrderStep;
  if (gpu.numa >= 0) device.numa_nodes = {gpu.numa};
  device.memory = gpu.memory;
  DeviceTraits traits;
  if (!gpu.pci.empty()) ReadPciPlace(root, gpu.pci, traits);
  device.traits = std::move(traits);
  const auto add = [&](const std::string& path) {
    device.nodes.push_back({.host_path = Below(config.dev_root, path), .container_path = path});
  };
  const std::string tree = DevTree(root, config);
  for (const std::string_view path : kSharedNodes) {
    if (os::Exists(root.Path(Below(tree, path)))) add(std::string(path));
  }
  if (gpu.minor) add(fmt::format("/dev/nvidia{}", *gpu.minor));
  return device;
}

// Reads the GPU's other fields.
nvml::Answer<Gpu> ReadRest(const nvml::Library& library, const os::Root& root,
                           nvml::DeviceHandle device, Gpu gpu) {
  const auto minor = library.MinorNumber(device);
  if (!minor) return tl::unexpected(minor.error());
  const auto pci = library.Pci(device);
  if (!pci) return tl::unexpected(pci.error());
  auto mig = ReadMig(library, device);
  if (!mig) return tl::unexpected(mig.error());
  gpu.minor = *minor;
  gpu.pci = SysfsAddress(*pci);
  gpu.numa = NumaNode(root, gpu.pci);
  gpu.nvlinks = ReadNvLinks(library, device);
  gpu.mig = *std::move(mig);
  return gpu;
}

constexpr uint64_t kMebibyte = 1 << 20;

}  // namespace

std::string DevTree(const os::Root& root, const NvidiaConfig& config) {
  for (const std::string& tree : {config.driver_root, config.dev_root}) {
    if (tree != "/" && os::Exists(root.Path(tree + "/dev"))) return tree;
  }
  return "/";
}

std::string Below(std::string_view root, std::string_view path) {
  while (root.ends_with('/')) root.remove_suffix(1);
  return std::string(root) + std::string(path);
}

bool IsIntegrated(std::string_view model) {
  return model.find("(nvgpu)") != std::string_view::npos ||
         model.find("NVIDIA Thor") != std::string_view::npos;
}

nvml::Answer<Gpu> Read(const nvml::Library& library, const os::Root& root, unsigned index) {
  const nvml::Use use(library, index);
  const auto device = library.DeviceByIndex(index);
  if (!device) return tl::unexpected(device.error());
  const auto uuid = library.Uuid(*device);
  if (!uuid) return tl::unexpected(uuid.error());
  const auto name = library.Name(*device);
  if (!name) return tl::unexpected(name.error());
  const Gpu known{.index = index, .uuid = *uuid, .model = *name};
  auto gpu = ReadRest(library, root, *device, known);
  // A Tegra's GPU has neither bus address nor node, and is granted without them.
  const bool is_enough = !gpu && IsIntegrated(*name) && !nvml::IsOfDriver(gpu.error());
  return is_enough ? known : gpu;
}

int64_t MemoryOf(const nvml::Library& library, unsigned index, int64_t untold) {
  const nvml::Use use(library, index);
  const auto device = library.DeviceByIndex(index);
  if (!device) return 0;
  const auto memory = library.MemoryOf(*device);
  if (memory) return static_cast<int64_t>(memory->total / kMebibyte);
  return memory.error().code == nvml::Return::kNotSupported ? untold : 0;
}

bool IsDisplay(const Gpu& gpu) {
  return gpu.model == "DGX Display" || gpu.model == "NVIDIA DGX Display";
}

std::optional<DeviceNode> ImexNode(const os::Root& root, const NvidiaConfig& config) {
  if (IsCharDevice(root.Path(Below(DevTree(root, config), kImexChannel)))) {
    return DeviceNode{.host_path = Below(config.dev_root, kImexChannel),
                      .container_path = kImexChannel};
  }
  if (!IsCharDevice(root.Path(kImexChannel))) return std::nullopt;
  return DeviceNode{.host_path = kImexChannel, .container_path = kImexChannel};
}

void AddImex(const os::Root& root, const NvidiaConfig& config, Device& device) {
  if (config.imex == Imex::kNone) return;
  if (auto node = ImexNode(root, config)) {
    device.nodes.push_back(*std::move(node));
  } else if (config.imex == Imex::kRequired && !device.defect) {
    device.defect = Error{
        Reason::kUnreadable,
        fmt::format("{} is required and does not exist: start nvidia-imex, or make the channel",
                    kImexChannel)};
  }
}

Device Describe(const os::Root& root, const std::string& resource, const NvidiaConfig& config,
                const Gpu& gpu) {
  Device device = DescribeBase(root, resource, config, gpu);
  AddImex(root, config, device);
  return device;
}

Device Describe(const os::Root& root, const std::string& resource, const NvidiaConfig& config,
                const Gpu& gpu, const MigDevice& mig) {
  Device device = DescribeBase(root, resource, config, gpu);
  device.key.id = mig.uuid;
  device.model = fmt::format("{} MIG {}", gpu.model, mig.profile);
  device.visible_as = VisibleAs(config, mig.uuid, fmt::format("{}:{}", gpu.index, mig.index));
  const auto minors = os::ReadFile(root.Path(kMigMinors));
  std::vector<std::string> nodes;
  if (gpu.minor) nodes = CapabilityNodes(minors.value_or(""), *gpu.minor, mig);
  for (const std::string& path : nodes) {
    device.nodes.push_back({.host_path = Below(config.dev_root, path), .container_path = path});
  }
  if (nodes.size() < 2) {
    device.defect =
        Error{Reason::kUnreadable,
              fmt::format("{} does not list GPU instance {} and compute instance {} of "
                          "GPU {}",
                          kMigMinors, mig.gpu_instance, mig.compute_instance, gpu.index)};
  }
  AddImex(root, config, device);
  return device;
}

std::vector<Device> DevicesOfGpu(const os::Root& root, const std::string& resource,
                                 const NvidiaConfig& config, const Gpu& gpu) {
  std::vector<Device> devices;
  const ClaimedPart part = ClaimedPartOf(config, gpu);
  const std::string trouble = gpu.mig.Trouble();
  if (part.whole) devices.push_back(Describe(root, resource, config, gpu));
  for (const size_t i : part.devices) {
    const MigDevice& mig = gpu.mig.devices[i];
    const std::string owner =
        config.family.empty() ? resource : config::MemberName(config.family, mig.profile);
    if (resource != owner && resource != config.family) continue;
    Device& device = devices.emplace_back(Describe(root, owner, config, gpu, mig));
    device.order += static_cast<int>(mig.index);
    device.parent = gpu.uuid;
    if (trouble.empty()) continue;
    device.defect = Error{Reason::kMigLayout, fmt::format("GPU {} {}", gpu.index, trouble)};
  }
  return devices;
}

Device DescribeUnknown(const std::string& resource, unsigned index, const std::string& why) {
  Device device;
  device.key = {resource, fmt::format("unreadable-{}", index)};
  device.model = "NVIDIA GPU";
  device.visible_as = device.key.id;
  device.defect = Error{Reason::kUnreadable, fmt::format("GPU {}: {}", index, why)};
  return device;
}

}  // namespace tessera::nvidia
