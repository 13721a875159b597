// SPDX-License-Identifier: Apache-2.0
#include "nvml/nvidia_node.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "nvml/node.h"
#include "nvml/yaml.h"
#include "os/files.h"

namespace tessera {
namespace {

void Write(const std::string& path, const std::string& content) {
  if (!os::MakeDirectories(path.substr(0, path.rfind('/'))) || !os::ReplaceFile(path, content)) {
    throw std::runtime_error("cannot write " + path);
  }
}

// Renames the function in the library's symbol names, so the loader finds none of that name. The
// new name must be as long as the old one.
std::string Without(const std::string& function, std::string library) {
  const std::string name = '\0' + function + '\0';
  size_t at = library.find(name);
  if (at == std::string::npos) throw std::runtime_error("the fake NVML has no " + function);
  for (; at != std::string::npos; at = library.find(name, at)) library[at + 1] = 'x';
  return library;
}

}  // namespace

NvidiaNode::NvidiaNode(std::string directory, const std::string& hardware)
    : directory_(std::move(directory)) {
  InstallDriver();
  SetHardware(os::ReadFile(fmt::format("{}/{}.yaml", TESSERA_HARDWARE, hardware)).value());
}

void NvidiaNode::SetHardware(const std::string& yaml) {
  description_ = yaml;
  hardware_ = nvml::MakeNode(directory_, yaml);
}

void NvidiaNode::SetMig(size_t gpu, const std::string& mig) {
  SetHardware(nvml::Divided(description_, fmt::format("{}: {}", gpu, mig)));
}

void NvidiaNode::SetGpus(size_t count) {
  nvml::Yaml yaml = nvml::Yaml::Parse(description_);
  nvml::Yaml gpus = yaml["gpus"];
  const std::vector<nvml::Yaml> known = gpus.items();
  gpus.items().resize(std::min(count, known.size()));
  for (size_t i = known.size(); i < count; ++i) {
    nvml::Yaml& gpu = gpus.items().emplace_back(known.back());
    gpu.Set("uuid", nvml::Yaml(fmt::format("GPU-{:08x}-1111-4000-8000-000000000000", i)));
    gpu.Set("pci", nvml::Yaml(fmt::format("{:04x}:01:00.0", i)));
  }
  yaml.Set("gpus", std::move(gpus));
  SetHardware(yaml.Text());
}

void NvidiaNode::InstallDriver(const std::string& lacking) {
  std::string library = os::ReadFile(TESSERA_FAKE_NVML).value();
  Write(directory_ + nvml::kLibraryPath,
        lacking.empty() ? library : Without(lacking, std::move(library)));
}

void NvidiaNode::RemoveDriver() {
  if (!os::RemoveFile(directory_ + nvml::kLibraryPath))
    throw std::runtime_error("cannot remove the driver");
}

void NvidiaNode::SetFaults(const std::string& yaml) {
  nvml::SetFaults(directory_, yaml);
}

std::string NvidiaNode::faults_path() const {
  return directory_ + nvml::kFaultsPath;
}

}  // namespace tessera
