// SPDX-License-Identifier: Apache-2.0
#include "cuda/node.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "nvml/faults.h"
#include "nvml/hardware.h"

namespace tessera::fake_cuda {
namespace {

constexpr int kDefaultVersion = 12080;

const char* Environment(const char* name) {
  return getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread changes it
}

std::string DescriptionPath() {
  if (const char* path = Environment("TESSERA_FAKE_NVML")) return path;
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&DescriptionPath), &info);
  const std::string library = info.dli_fname == nullptr ? "" : info.dli_fname;
  return library.substr(0, library.rfind('/') + 1) + "fake-nvml.yaml";
}

std::string DirectoryOf(const std::string& path) {
  const size_t end = path.rfind('/');
  return end == std::string::npos ? "." : path.substr(0, end);
}

// The 16 bytes of "GPU-b3639a62-370e-...".
Uuid Bytes(const std::string& uuid) {
  Uuid bytes{};
  std::string digits;
  for (const char c : uuid.substr(std::min<size_t>(uuid.find('-'), uuid.size()))) {
    if (c != '-') digits += c;
  }
  for (size_t i = 0; i < bytes.size() && 2 * i + 1 < digits.size(); ++i) {
    unsigned byte = 0;
    std::from_chars(&digits[2 * i], &digits[2 * i] + 2, byte, 16);
    bytes[i] = static_cast<char>(byte);
  }
  return bytes;
}

int MultiprocessorsOf(const std::string& model) {
  static constexpr std::pair<std::string_view, int> kKnown[] = {
      {"H100", 132}, {"H200", 132}, {"A100", 108}, {"V100", 80}, {"T4", 40}};
  for (const auto& [name, count] : kKnown) {
    if (model.find(name) != std::string::npos) return count;
  }
  return 80;
}

Device WholeGpu(const nvml::HardwareGpu& gpu) {
  return {.uuid = gpu.uuid,
          .gpu_bytes = Bytes(gpu.uuid),
          .bytes = Bytes(gpu.uuid),
          .name = gpu.model,
          .memory = gpu.memory_mib << 20,
          .multiprocessors = MultiprocessorsOf(gpu.model),
          .major = gpu.compute_major,
          .minor = gpu.compute_minor,
          .pci = {static_cast<int>(gpu.pci.domain), static_cast<int>(gpu.pci.bus),
                  static_cast<int>(gpu.pci.device)},
          .integrated = gpu.integrated};
}

Device MigOf(const nvml::HardwareGpu& gpu, const nvml::MigInstance& mig) {
  Device device = WholeGpu(gpu);
  device.uuid = mig.uuid;
  device.bytes = Bytes(mig.uuid);
  device.name += " MIG " + mig.profile;
  device.memory = mig.attributes.memory_mib << 20;
  device.multiprocessors = static_cast<int>(mig.attributes.multiprocessors);
  return device;
}

// Finds a device by number, or by an unambiguous beginning of its UUID.
const Device* Named(const std::vector<Device>& gpus, const std::vector<Device>& migs,
                    std::string_view name) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error == std::errc() && end == name.data() + name.size()) {
    return index < gpus.size() ? &gpus[index] : nullptr;
  }
  const Device* found = nullptr;
  for (const auto* devices : {&gpus, &migs}) {
    for (const Device& device : *devices) {
      if (name.size() <= 4 || !device.uuid.starts_with(name)) continue;
      if (found != nullptr) return nullptr;
      found = &device;
    }
  }
  return found;
}

uint64_t* OptionOf(Options& options, std::string_view name, uint64_t& unit) {
  unit = name.ends_with("-mib") ? uint64_t{1} << 20 : 1;
  if (name.ends_with("-ms")) unit = 1'000'000;
  if (name.ends_with("-us")) unit = 1'000;
  if (name == "context-mib") return &options.context_bytes;
  if (name == "context-ms") return &options.context_ns;
  if (name == "late-ms") return &options.late_ns;
  if (name == "jitter") return &options.jitter_percent;
  if (name == "slice-us") return &options.slice_ns;
  if (name == "module-mib") return &options.module_bytes;
  if (name == "lazy") return &options.lazy;
  if (name == "sms") return &options.multiprocessors;
  if (name == "cuda") return &options.version;
  if (name == "no-uuid") return &options.unnamed;
  if (name == "moves-pages") return &options.moves_pages;
  throw std::runtime_error("TESSERA_FAKE_CUDA_OPTIONS: there is no option \"" + std::string(name) +
                           "\"");
}

// Removes the text up to the separator, and the separator. Returns that text.
std::string_view Next(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

}  // namespace

Options ParseOptions(const std::string& text) {
  Options options;
  for (std::string_view left = text; !left.empty();) {
    std::string_view value = Next(left, ',');
    const std::string_view name = Next(value, '=');
    uint64_t unit = 1;
    uint64_t* option = OptionOf(options, name, unit);
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size()) {
      throw std::runtime_error("TESSERA_FAKE_CUDA_OPTIONS: " + std::string(name) +
                               " has no number");
    }
    *option = number * unit;
  }
  return options;
}

unsigned MpsPercent(const std::string& pipe_directory, const char* percentage) {
  if (pipe_directory.empty() || access((pipe_directory + "/control").c_str(), F_OK) != 0) return 0;
  const int percent = percentage == nullptr ? 100 : atoi(percentage);
  return percent >= 1 && percent <= 100 ? static_cast<unsigned>(percent) : 100;
}

std::vector<Device> Visible(const std::vector<Device>& gpus, const std::vector<Device>& migs,
                            const char* names) {
  if (names == nullptr) {
    if (!gpus.empty() || migs.empty()) return gpus;
    return {migs.front()};  // CUDA sees one MIG device at a time
  }
  std::vector<Device> devices;
  for (std::string_view left = names; !left.empty();) {
    const Device* device = Named(gpus, migs, Next(left, ','));
    if (device == nullptr) break;
    const bool twice = std::ranges::count(devices, device->uuid, &Device::uuid) > 0;
    if (twice) return {};
    devices.push_back(*device);
    if (device->uuid.starts_with("MIG-")) return {*device};
  }
  return devices;
}

Node ReadNode() {
  const std::string path = DescriptionPath();
  std::string text;
  if (!nvml::ReadText(path, text)) throw std::runtime_error(path + " cannot be read");
  const nvml::Hardware hardware = nvml::ParseHardware(text);
  std::vector<Device> gpus;
  std::vector<Device> migs;
  for (const nvml::HardwareGpu& gpu : hardware.gpus) {
    if (!gpu.mig_enabled) gpus.push_back(WholeGpu(gpu));
    for (const nvml::MigInstance& mig : gpu.mig) migs.push_back(MigOf(gpu, mig));
  }
  Node node;
  node.devices = Visible(gpus, migs, Environment("CUDA_VISIBLE_DEVICES"));
  const char* options = Environment("TESSERA_FAKE_CUDA_OPTIONS");
  node.options = ParseOptions(options == nullptr ? "" : options);
  node.version = hardware.cuda == 0 ? kDefaultVersion : hardware.cuda;
  if (node.options.version != 0) node.version = static_cast<int>(node.options.version);
  const char* directory = Environment("TESSERA_FAKE_CUDA");
  node.directory = directory == nullptr ? DirectoryOf(path) : directory;
  const char* pipe = Environment("CUDA_MPS_PIPE_DIRECTORY");
  node.mps_percent =
      MpsPercent(pipe == nullptr ? "" : pipe, Environment("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"));
  for (Device& device : node.devices) {
    const bool is_whole = !device.uuid.starts_with("MIG-");
    if (is_whole && node.options.multiprocessors != 0) {
      device.multiprocessors = static_cast<int>(node.options.multiprocessors);
    }
    if (node.mps_percent == 0) continue;
    const int part = device.multiprocessors * static_cast<int>(node.mps_percent) / 100;
    device.multiprocessors = std::max(1, part);
  }
  return node;
}

}  // namespace tessera::fake_cuda
