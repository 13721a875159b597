// SPDX-License-Identifier: Apache-2.0
#include "nvml/node.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "nvml/faults.h"
#include "nvml/yaml.h"

namespace tessera::nvml {
namespace {

void Write(const std::string& path, const std::string& content) {
  const std::string next = path + ".next";
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(next, std::ios::trunc);
  file << content;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + next);
  std::filesystem::rename(next, path);
}

std::set<size_t> GpusIn(const std::string& faults, size_t count) {
  const Faults read = ParseFaults(faults);
  std::set<size_t> gpus;
  for (const auto& [gpu, what] : read.gpus) gpus.insert(gpu);
  for (const FaultEvent& event : read.events) gpus.insert(event.gpu);
  for (size_t gpu : gpus) {
    if (gpu >= count) throw std::runtime_error(fmt::format("there is no GPU {}", gpu));
  }
  const CallFaults& driver = read.driver;
  if (!read.no_dxg && driver.fail.empty() && driver.hang.empty() && driver.slow_ms == 0)
    return gpus;
  for (size_t gpu = 0; gpu < count; ++gpu) gpus.insert(gpu);
  return gpus;
}

// The id of the one device that all GPUs are together; empty if each GPU is a device.
std::string OneOfAll(const Hardware& hardware) {
  if (hardware.platform == "wsl") return "all";
  return std::ranges::any_of(hardware.gpus, &HardwareGpu::integrated) ? "tegra" : "";
}

void MakeWsl(const std::string& directory, bool with_dxg) {
  const std::string dxg = directory + "/dev/dxg";
  if (!with_dxg) {
    std::filesystem::remove(dxg);
    return;
  }
  Write(dxg, "");
  const std::string library = directory + "/usr/lib64/libdxcore.so";
  if (!std::filesystem::exists(library)) {
    std::filesystem::copy_file(directory + kLibraryPath, library);
  }
}

// The first 256 bytes of the PCI configuration space. A virtual GPU has a vendor-specific
// capability: id, length, the letters "VF", and one record with the version of the host's driver.
std::string ConfigSpace(const HardwareGpu& gpu) {
  std::string space(256, '\0');
  space.replace(0, 2, "\xde\x10");
  if (!gpu.vgpu) return space;
  constexpr size_t kAt = 0xd0;
  space[0x06] = 0x10;  // it has capabilities
  space[0x34] = '\xd0';
  space[kAt] = 0x09;
  space[kAt + 2] = 27;
  space.replace(kAt + 3, 2, "VF");
  space[kAt + 6] = 22;
  space.replace(kAt + 7, gpu.vgpu->version.size(), gpu.vgpu->version);
  space.replace(kAt + 17, gpu.vgpu->branch.size(), gpu.vgpu->branch);
  return space;
}

void WriteSysfs(const std::string& directory, const HardwareGpu& gpu) {
  const std::string device = fmt::format("{}/sys/bus/pci/devices/{:04x}:{:02x}:{:02x}.0/",
                                         directory, gpu.pci.domain, gpu.pci.bus, gpu.pci.device);
  Write(device + "numa_node", fmt::format("{}\n", gpu.numa));
  if (gpu.pci_class.empty()) return;
  Write(device + "vendor", "0x10de\n");
  Write(device + "class", gpu.pci_class + "\n");
  Write(device + "config", ConfigSpace(gpu));
}

void AddDevices(const Hardware& hardware, size_t gpu, std::vector<NodeDevice>& devices) {
  const HardwareGpu& of = hardware.gpus[gpu];
  if (const std::string one = OneOfAll(hardware); !one.empty()) {
    if (devices.empty()) devices.push_back({"0", one, hardware.gpus[0].model});
    return;
  }
  const auto known = [&](const std::string& uuid) {
    return std::ranges::count(devices, uuid, &NodeDevice::uuid) > 0;
  };
  if (!known(of.uuid))
    devices.push_back({fmt::format("{}", gpu), of.uuid, of.model, of.memory_mib});
  for (size_t i = 0; i < of.mig.size(); ++i) {
    if (known(of.mig[i].uuid)) continue;
    devices.push_back({fmt::format("{}:{}", gpu, i), of.mig[i].uuid, of.mig[i].profile});
  }
}

}  // namespace

Hardware MakeNode(const std::string& directory, const std::string& yaml) {
  Hardware hardware = ParseHardware(yaml);
  for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) {
    Write(fmt::format("{}/dev/{}", directory, node), "");
  }
  std::string minors = "config 1\nmonitor 2\n";
  unsigned next = 3;
  for (const HardwareGpu& gpu : hardware.gpus) {
    for (const MigInstance& mig : gpu.mig) {
      const std::string instance = fmt::format("gpu{}/gi{}", gpu.minor, mig.gpu_instance);
      minors += fmt::format("{}/access {}\n", instance, next++);
      minors += fmt::format("{}/ci{}/access {}\n", instance, mig.compute_instance, next++);
    }
    if (gpu.integrated) continue;
    Write(fmt::format("{}/dev/nvidia{}", directory, gpu.minor), "");
    WriteSysfs(directory, gpu);
  }
  Write(directory + "/proc/driver/nvidia-caps/mig-minors", minors);
  if (!hardware.machine.empty()) {
    Write(directory + "/sys/class/dmi/id/product_name", hardware.machine + "\n");
  }
  if (hardware.platform == "tegra") {
    Write(directory + "/etc/nv_tegra_release", "# R36 (release), REVISION: 4.0\n");
    Write(directory + "/sys/devices/soc0/family", "Tegra\n");
  } else if (hardware.platform == "wsl") {
    MakeWsl(directory, true);
  }
  // The description comes last: as with the driver, an instance's files exist before NVML reports
  // it.
  Write(directory + kDescriptionPath, yaml);
  return hardware;
}

void SetFaults(const std::string& directory, const std::string& yaml) {
  const Faults faults = ParseFaults(yaml);
  if (ParseHardware(DescriptionOf(directory)).platform == "wsl") {
    MakeWsl(directory, !faults.no_dxg);
  }
  Write(directory + kFaultsPath, yaml);
}

std::string Divided(const std::string& description, const std::string& mig) {
  Yaml yaml = Yaml::Parse(description);
  Yaml gpus = yaml["gpus"];
  const Yaml divided = Yaml::Parse(mig);
  for (const auto& [gpu, instances] : divided.entries()) {
    const auto place = gpu.As<size_t>();
    if (place >= gpus.items().size()) {
      throw std::runtime_error(fmt::format("there is no GPU {}", place));
    }
    gpus.items()[place].Set("mig", instances);
  }
  yaml.Set("gpus", std::move(gpus));
  return yaml.Text();
}

std::string DescriptionOf(const std::string& directory) {
  std::ifstream file(directory + kDescriptionPath);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error("cannot read " + directory + kDescriptionPath);
  return text.str();
}

std::vector<NodeDevice> DevicesOf(const Hardware& hardware) {
  std::vector<NodeDevice> devices;
  for (size_t gpu = 0; gpu < hardware.gpus.size(); ++gpu) AddDevices(hardware, gpu, devices);
  return devices;
}

std::vector<NodeDevice> TouchedBy(const std::string& faults, const Hardware& hardware) {
  std::vector<NodeDevice> devices;
  for (size_t gpu : GpusIn(faults, hardware.gpus.size())) AddDevices(hardware, gpu, devices);
  return devices;
}

std::vector<NodeDevice> TouchedByMig(const std::string& mig, const std::string& description) {
  const Hardware after = ParseHardware(Divided(description, mig));
  const Hardware before = ParseHardware(description);
  std::vector<NodeDevice> devices;
  const Yaml divided = Yaml::Parse(mig);
  for (const auto& [gpu, instances] : divided.entries()) {
    AddDevices(after, gpu.As<size_t>(), devices);
  }
  const size_t there = devices.size();
  for (const auto& [gpu, instances] : divided.entries()) {
    AddDevices(before, gpu.As<size_t>(), devices);
  }
  // A device that goes has no place in the new division.
  for (size_t i = there; i < devices.size(); ++i) {
    devices[i].index = devices[i].index.substr(0, devices[i].index.find(':')) + ":-";
  }
  return devices;
}

}  // namespace tessera::nvml
