// SPDX-License-Identifier: Apache-2.0
#include "nvml/nvidia_node.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <stdexcept>

#include "os/files.h"

namespace tessera {
namespace {

constexpr char kLibrary[] = "/usr/lib64/libnvidia-ml.so.1";
constexpr char kDescription[] = "/usr/lib64/fake-nvml.yaml";

void Write(const std::string& path, const std::string& content) {
  if (!os::MakeDirectories(path.substr(0, path.rfind('/'))) || !os::ReplaceFile(path, content)) {
    throw std::runtime_error("cannot write " + path);
  }
}

}  // namespace

NvidiaNode::NvidiaNode(std::string directory, const std::string& hardware)
    : directory_(std::move(directory)) {
  InstallDriver();
  for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) {
    Write(fmt::format("{}/dev/{}", directory_, node), "");
  }
  SetHardware(os::ReadFile(fmt::format("{}/{}.yaml", TESSERA_HARDWARE, hardware)).value());
}

void NvidiaNode::SetHardware(const std::string& yaml) {
  description_ = yaml;
  hardware_ = nvml::ParseHardware(yaml);
  std::string minors = "config 1\nmonitor 2\n";
  unsigned next = 3;
  for (const nvml::HardwareGpu& gpu : hardware_.gpus) {
    for (const nvml::MigInstance& mig : gpu.mig) {
      const std::string instance = fmt::format("gpu{}/gi{}", gpu.minor, mig.gpu_instance);
      minors += fmt::format("{}/access {}\n", instance, next++);
      minors += fmt::format("{}/ci{}/access {}\n", instance, mig.compute_instance, next++);
    }
    Write(fmt::format("{}/dev/nvidia{}", directory_, gpu.minor), "");
    Write(fmt::format("{}/sys/bus/pci/devices/{:04x}:{:02x}:{:02x}.0/numa_node", directory_,
                      gpu.pci.domain, gpu.pci.bus, gpu.pci.device),
          fmt::format("{}\n", gpu.numa));
  }
  Write(directory_ + "/proc/driver/nvidia-caps/mig-minors", minors);
  if (hardware_.platform == "tegra") {
    Write(directory_ + "/etc/nv_tegra_release", "# R36 (release), REVISION: 4.0\n");
    Write(directory_ + "/sys/devices/soc0/family", "Tegra\n");
  } else if (hardware_.platform == "wsl") {
    Write(directory_ + "/dev/dxg", "");
    Write(directory_ + "/usr/lib64/libdxcore.so", os::ReadFile(TESSERA_FAKE_DXCORE).value());
  }
  // Last, as the files of an instance are there once NVML tells of it.
  Write(directory_ + kDescription, yaml);
}

void NvidiaNode::SetMig(size_t gpu, const std::string& mig) {
  YAML::Node yaml = YAML::Load(description_);
  yaml["gpus"][gpu]["mig"] = YAML::Load(mig);
  SetHardware(YAML::Dump(yaml));
}

void NvidiaNode::SetGpus(size_t count) {
  YAML::Node yaml = YAML::Load(description_);
  YAML::Node gpus;
  for (size_t i = 0; i < count; ++i) {
    const size_t known = std::min(i, yaml["gpus"].size() - 1);
    YAML::Node gpu = YAML::Clone(yaml["gpus"][known]);
    if (known < i) {
      gpu["uuid"] = fmt::format("GPU-{:08x}-1111-4000-8000-000000000000", i);
      gpu["pci"] = fmt::format("{:04x}:01:00.0", i);
    }
    gpus.push_back(gpu);
  }
  yaml["gpus"] = gpus;
  SetHardware(YAML::Dump(yaml));
}

void NvidiaNode::InstallDriver() {
  Write(directory_ + kLibrary, os::ReadFile(TESSERA_FAKE_NVML).value());
}

void NvidiaNode::RemoveDriver() {
  if (!os::RemoveFile(directory_ + kLibrary)) throw std::runtime_error("cannot remove the driver");
}

void NvidiaNode::SetFaults(const std::string& yaml) {
  Write(faults_path(), yaml);
}

std::string NvidiaNode::faults_path() const {
  return directory_ + kDescription + ".faults";
}

}  // namespace tessera
