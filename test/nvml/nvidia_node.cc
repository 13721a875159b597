// SPDX-License-Identifier: Apache-2.0
#include "nvml/nvidia_node.h"

#include <fmt/core.h>

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
  const std::string text =
      os::ReadFile(fmt::format("{}/{}.yaml", TESSERA_HARDWARE, hardware)).value();
  hardware_ = nvml::ParseHardware(text);
  InstallDriver();
  Write(directory_ + kDescription, text);
  for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) {
    Write(fmt::format("{}/dev/{}", directory_, node), "");
  }
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
