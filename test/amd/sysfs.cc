// SPDX-License-Identifier: Apache-2.0
// The PCI bus, the driver, DRM and device nodes.
#include <fmt/core.h>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "amd/state.h"

namespace tessera::amd {
namespace {

constexpr char kDriver[] = "/sys/bus/pci/drivers/amdgpu";
constexpr char kModule[] = "/sys/module/amdgpu";
constexpr int kBlock = 8;  // DRM minors of a GPU with partitions
constexpr size_t kPlatformDevices = 7;

// The first 256 bytes of the PCI configuration space.
std::string ConfigSpace(const SimGpu& gpu) {
  std::string space(256, '\0');
  const auto put = [&](size_t at, uint64_t value) { space[at] = static_cast<char>(value & 0xff); };
  const uint64_t pci_class = std::stoul(gpu.chip.pci_class, nullptr, 16);
  put(0x00, 0x02);
  put(0x01, 0x10);
  put(0x02, gpu.device_id);
  put(0x03, gpu.device_id >> 8U);
  put(0x09, pci_class);
  put(0x0a, pci_class >> 8U);
  put(0x0b, pci_class >> 16U);
  return space;
}

// The processors of a CPU: its cores, then their second threads.
std::string ProcessorsOf(const SimNode& node, std::optional<int> cpu) {
  const int all = node.cpus * node.cpu_cores;
  if (!cpu || node.cpus == 1) return fmt::format("0-{}", all - 1);
  const int half = node.cpu_cores / 2;
  const int first = *cpu * half;
  const int second = all / 2 + first;
  return fmt::format("{}-{},{}-{}", first, first + half - 1, second, second + half - 1);
}

void AddBridges(Tree& tree, const SimGpu& gpu) {
  std::string path = "/sys/devices";
  for (const std::string& bridge : gpu.bridges) {
    path += "/" + bridge;
    tree.AddDirectory(path);
    if (bridge.starts_with("pci")) continue;  // a root complex is no function
    tree.AddLine(path + "/vendor", "0x1022");
    tree.AddLine(path + "/class", "0x060400");
    tree.AddLink("/sys/bus/pci/devices/" + bridge, path);
  }
}

void AddDrm(Tree& tree, const std::string& device, int card, std::optional<int> render) {
  tree.AddLine(fmt::format("{}/drm/card{}/dev", device, card), fmt::format("226:{}", card));
  tree.AddFile(fmt::format("/dev/dri/card{}", card), "");
  if (!render) return;
  tree.AddLine(fmt::format("{}/drm/renderD{}/dev", device, *render),
               fmt::format("226:{}", *render));
  tree.AddFile(fmt::format("/dev/dri/renderD{}", *render), "");
}

// The partitions but the first one are there in every mode, if the GPU can have them.
void AddPlatformDevices(Tree& tree, const NodeState& state, size_t gpu) {
  const SimGpu& of = state.node.gpus[gpu];
  if (of.computes.empty()) return;
  for (int index = 1; index < kBlock; ++index) {
    if (state.Lacks(gpu, index)) continue;
    const std::string device =
        fmt::format("/sys/devices/platform/amdgpu_xcp{}{}", state.node.xcp_separator,
                    kPlatformDevices * gpu + static_cast<size_t>(index) - 1);
    tree.AddLine(device + "/uevent", "MODALIAS=platform:amdgpu_xcp");
    AddDrm(tree, device, of.card + index, of.render + index);
  }
}

void AddPciFiles(Tree& tree, const NodeState& state, size_t gpu) {
  const SimGpu& of = state.node.gpus[gpu];
  const std::string device = DevicePath(of) + "/";
  tree.AddLine(device + "vendor", "0x1002");
  tree.AddLine(device + "device", fmt::format("{:#06x}", of.device_id));
  tree.AddLine(device + "subsystem_vendor", "0x1002");
  tree.AddLine(device + "subsystem_device", fmt::format("{:#06x}", of.device_id));
  tree.AddLine(device + "revision", "0x00");
  tree.AddLine(device + "class", of.chip.pci_class);
  tree.AddLine(device + "numa_node", std::to_string(of.numa.value_or(-1)));
  tree.AddLine(device + "local_cpulist", ProcessorsOf(state.node, of.numa));
  tree.AddLine(device + "current_link_speed", of.chip.link_speed);
  tree.AddLine(device + "current_link_width", "16");
  tree.AddLine(device + "reset_method", "bus");
  const bool is_lost = state.gpus[gpu].is_lost;
  tree.AddFile(device + "config", is_lost ? std::string(256, '\xff') : ConfigSpace(of));
  const std::string group = fmt::format("/sys/kernel/iommu_groups/{}", 16 + gpu);
  tree.AddDirectory(group);
  tree.AddLink(device + "iommu_group", group);
  tree.AddLink("/sys/bus/pci/devices/" + of.address, DevicePath(of));
}

void AddPartitionFiles(Tree& tree, const SimGpu& gpu, bool is_resetting,
                       const std::string& device) {
  const auto add_mode = [&](const char* file, const std::string& mode) {
    tree.AddFile(device + file, is_resetting ? "" : mode + "\n");
  };
  if (!gpu.compute.empty()) {
    std::vector<std::string> modes;
    for (const auto& [mode, partitions] : gpu.computes) modes.push_back(mode);
    add_mode("current_compute_partition", gpu.compute);
    tree.AddLine(device + "available_compute_partition", fmt::format("{}", fmt::join(modes, ", ")));
  }
  if (gpu.memory_mode.empty()) return;
  add_mode("current_memory_partition", gpu.memory_mode);
  tree.AddLine(device + "available_memory_partition",
               fmt::format("{}", fmt::join(gpu.memory_modes, ", ")));
}

void AddMemoryFiles(Tree& tree, const SimGpu& gpu, const GpuState& state,
                    const std::string& device) {
  tree.AddLine(device + "mem_info_vram_total", std::to_string(gpu.memory));
  tree.AddLine(device + "mem_info_vram_used", std::to_string(state.memory_used));
  tree.AddLine(device + "mem_info_vis_vram_total", std::to_string(gpu.memory));
  tree.AddLine(device + "mem_info_gtt_total", std::to_string(gpu.chip.gtt_bytes));
  tree.AddLine(device + "mem_info_vram_vendor", "hynix");
}

void AddRasFiles(Tree& tree, const SimGpu& gpu, const GpuState& state, const std::string& device) {
  if (!gpu.has_ras) return;
  tree.AddLine(device + "ras/features", "feature mask: 0x1fff");
  tree.AddFile(device + "ras/gpu_vram_bad_pages", "");
  for (const auto& [block, counts] : state.ras) {
    tree.AddFile(device + "ras/" + block + "_err_count",
                 fmt::format("ue: {}\nce: {}\n{}", counts.first, counts.second,
                             gpu.old_kernel ? "" : "de: 0\n"));
  }
}

void AddSensors(Tree& tree, const GpuState& state, const std::string& hwmon) {
  tree.AddLine(hwmon + "/name", "amdgpu");
  tree.AddLine(hwmon + "/temp2_input", std::to_string(state.celsius * 1000));
  tree.AddLine(hwmon + "/temp2_label", "junction");
  tree.AddLine(hwmon + "/temp2_crit", "100000");
  tree.AddLine(hwmon + "/power1_average", "140000000");
}

void AddDriverFiles(Tree& tree, const NodeState& node, size_t gpu) {
  const SimGpu& of = node.node.gpus[gpu];
  const GpuState& state = node.gpus[gpu];
  const std::string device = DevicePath(of) + "/";
  if (of.unique_id != 0) {
    tree.AddLine(device + "unique_id", fmt::format("{:016x}", of.unique_id));
    tree.AddLine(device + "serial_number", std::to_string(692251001124U + gpu));
  }
  if (!of.product_name.empty()) {
    tree.AddLine(device + "product_name", of.product_name);
    tree.AddLine(device + "product_number", "102-G30211-0C");
  }
  tree.AddLine(device + "vbios_version", "113-M3000100-102");
  tree.AddLine(device + "gpu_busy_percent", std::to_string(state.busy));
  tree.AddLine(device + "mem_busy_percent", "0");
  tree.AddLine(device + "pcie_replay_count", "0");
  if (of.hive_id != 0) tree.AddLine(device + "xgmi_error", "0");
  AddPartitionFiles(tree, of, state.is_resetting, device);
  AddMemoryFiles(tree, of, state, device);
  AddRasFiles(tree, of, state, device);
  AddSensors(tree, state, fmt::format("{}hwmon/hwmon{}", device, 3 + gpu));
  AddDrm(tree, DevicePath(of), of.card, of.render);
  AddPlatformDevices(tree, node, gpu);
}

// The link of the device to its driver, and the driver's to the device.
void AddDriverLinks(Tree& tree, const NodeState& state, size_t gpu) {
  const SimGpu& of = state.node.gpus[gpu];
  const bool is_bound = of.driver == "amdgpu" ? state.InKfd(gpu) : !of.driver.empty();
  if (!is_bound || state.gpus[gpu].is_lost) return;
  const std::string driver = "/sys/bus/pci/drivers/" + of.driver;
  tree.AddLink(DevicePath(of) + "/driver", driver);
  tree.AddLink(driver + "/" + of.address, DevicePath(of));
}

void AddModule(Tree& tree) {
  tree.AddLine(fmt::format("{}/version", kModule), "6.12.12");
  tree.AddLine(fmt::format("{}/srcversion", kModule), "8EB2E6E2B2A7C3D4E5F6A7B");
  tree.AddLine(fmt::format("{}/initstate", kModule), "live");
  tree.AddLink(fmt::format("{}/drivers/pci:amdgpu", kModule), kDriver);
  // The driver's directory has more than links to devices.
  tree.AddFile(fmt::format("{}/bind", kDriver), "");
  tree.AddFile(fmt::format("{}/unbind", kDriver), "");
  tree.AddLink(fmt::format("{}/module", kDriver), kModule);
  tree.AddFile("/dev/kfd", "");
}

void AddDisplay(Tree& tree) {
  SimGpu bmc;
  bmc.address = "0000:f2:00.0";
  bmc.bridges = {"pci0000:f0", "0000:f0:05.0", "0000:f1:00.0"};
  AddBridges(tree, bmc);
  const std::string device = DevicePath(bmc);
  tree.AddLine(device + "/vendor", "0x1a03");
  tree.AddLine(device + "/device", "0x2000");
  tree.AddLine(device + "/class", "0x030000");
  tree.AddLink("/sys/bus/pci/devices/" + bmc.address, device);
  tree.AddLink("/sys/bus/pci/drivers/ast/" + bmc.address, device);
  tree.AddLink(device + "/driver", "/sys/bus/pci/drivers/ast");
  AddDrm(tree, device, 0, std::nullopt);
}

}  // namespace

std::string DevicePath(const SimGpu& gpu) {
  return fmt::format("/sys/devices/{}/{}", fmt::join(gpu.bridges, "/"), gpu.address);
}

Tree DeviceFiles(const NodeState& state) {
  Tree tree;
  if (state.has_driver) AddModule(tree);
  if (state.node.has_display) AddDisplay(tree);
  for (size_t gpu = 0; gpu < state.gpus.size(); ++gpu) {
    AddBridges(tree, state.node.gpus[gpu]);
    if (state.gpus[gpu].is_absent) continue;
    AddPciFiles(tree, state, gpu);
    AddDriverLinks(tree, state, gpu);
    if (state.IsDriven(gpu)) AddDriverFiles(tree, state, gpu);
  }
  return tree;
}

}  // namespace tessera::amd
