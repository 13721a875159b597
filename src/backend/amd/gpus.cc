// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/gpus.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "backend/pci_function.h"
#include "backend/sysfs.h"
#include "base/characters.h"
#include "base/text.h"

namespace tessera::amd {
namespace {

constexpr char kDriver[] = "/sys/module/amdgpu/drivers/pci:amdgpu";
constexpr char kPlatform[] = "/sys/devices/platform";

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), ToLower);
  return text;
}

// Whether the name ends as "05:00.0" does. The directory has files besides the devices' links.
bool IsAddress(std::string_view name) {
  if (name.size() < 12) return false;
  const std::string_view end = name.substr(name.size() - 8);
  return end[0] == ':' && end[3] == ':' && end[6] == '.';
}

// The minors of the DRM devices in a directory "drm", by the node's name without its number.
std::map<std::string, int> MinorsIn(const std::string& drm) {
  std::map<std::string, int> minors;
  for (const std::string& name : sysfs::Names(drm)) {
    const size_t digits = name.find_first_of("0123456789");
    if (digits == std::string::npos) continue;
    const auto minor = sysfs::Number<int>(std::string_view(name).substr(digits));
    if (minor) minors.emplace(name.substr(0, digits), *minor);
  }
  return minors;
}

void AddCard(const std::string& drm, std::map<int, int>& cards) {
  const std::map<std::string, int> minors = MinorsIn(drm);
  const auto card = minors.find("card"), render = minors.find("renderD");
  if (card != minors.end() && render != minors.end()) cards[render->second] = card->second;
}

// The minor of each card by that of its render node. Partitions beyond the first have devices of
// their own, "amdgpu_xcp_3" or "amdgpu_xcp.3".
std::map<int, int> ReadCards(const os::Root& root, const std::vector<std::string>& addresses) {
  std::map<int, int> cards;
  for (const std::string& address : addresses) {
    AddCard(root.Path(fmt::format("{}/{}/drm", kDriver, address)), cards);
  }
  const std::string platform = root.Path(kPlatform);
  for (const std::string& name : sysfs::Names(platform)) {
    if (name.starts_with("amdgpu_xcp")) AddCard(fmt::format("{}/{}/drm", platform, name), cards);
  }
  return cards;
}

// A driver that resets the GPU refuses to say how it is divided. Empty: it cannot be divided.
Result<std::string> ReadMode(const std::string& path) {
  const auto text = os::ReadFile(path, 64);
  if (!text && text.error().reason == Reason::kNotFound) return std::string();
  std::string mode = Lower(std::string(text ? Trim(*text) : ""));
  if (!mode.empty() && mode != "unknown") return mode;
  return Fail(Reason::kUnreadable, "{} cannot be read: the driver may be resetting the GPU", path);
}

Gpu ReadGpu(const os::Root& root, const std::string& address) {
  const std::string directory = root.Path(fmt::format("{}/{}", kDriver, address));
  Gpu gpu{
      .address = address,
      .device_id = sysfs::HexText(directory + "/device"),
      .product = sysfs::Text(directory + "/product_name"),
      .unique_id = sysfs::Number<uint64_t>(sysfs::Text(directory + "/unique_id"), 16).value_or(0),
      .divides_compute = os::Exists(directory + "/available_compute_partition"),
      .divides_memory = os::Exists(directory + "/available_memory_partition"),
      .counts_errors = os::Exists(directory + "/ras"),
      .memory =
          sysfs::Number<uint64_t>(sysfs::Text(directory + "/mem_info_vram_total")).value_or(0)};
  const auto numa = sysfs::Number<int>(sysfs::Text(directory + "/numa_node"));
  if (numa && *numa >= 0) gpu.numa = numa;
  const auto compute = ReadMode(directory + "/current_compute_partition");
  const auto memory_mode = ReadMode(directory + "/current_memory_partition");
  if (!compute || !memory_mode) {
    gpu.trouble = compute ? memory_mode.error() : compute.error();
  } else {
    gpu.compute = *compute;
    gpu.memory_mode = *memory_mode;
  }
  return gpu;
}

Error WhyNoParts(const Topology& topology, const std::string& address) {
  if (topology.denied > 0) {
    return {Reason::kUnreadable,
            fmt::format("{}: the kernel hides GPUs from the agent: make its container privileged, "
                        "or allow it all devices of /dev/dri",
                        address)};
  }
  return {Reason::kUnreadable,
          fmt::format("{}: amdgpu has it, and no part of it can compute: leave it out by 'exclude' "
                      "if it is only for displays",
                      address)};
}

}  // namespace

std::string Gpu::Profile() const {
  if (compute.empty()) return "gpu";
  return memory_mode.empty() ? compute : compute + "_" + memory_mode;
}

bool Gpu::HasMemoryPerPart() const {
  const auto domains =
      memory_mode.starts_with("nps") ? sysfs::Number<size_t>(memory_mode.substr(3)) : std::nullopt;
  return domains && *domains >= parts.size();
}

Result<std::vector<std::string>> ReadAddresses(const os::Root& root) {
  auto names = os::ListDirectory(root.Path(kDriver));
  if (!names && names.error().reason == Reason::kNotFound) {
    return Fail(Reason::kDriverMissing, "the driver amdgpu is not loaded");
  }
  std::vector<std::string> addresses = TRY(std::move(names));
  std::erase_if(addresses, [](const std::string& name) { return !IsAddress(name); });
  return addresses;
}

Result<Gpus> ReadGpus(const os::Root& root, Depth depth) {
  const std::vector<std::string> addresses = TRY(ReadAddresses(root));
  auto read = ReadTopology(root, addresses, depth);
  if (!read && read.error().reason == Reason::kNotFound) {
    return Fail(Reason::kDriverMissing, "the driver amdgpu computes nothing: there is no amdkfd");
  }
  Topology topology = TRY(std::move(read));
  std::ranges::sort(topology.nodes, {}, &KfdNode::number);
  const std::map<int, int> cards = ReadCards(root, addresses);
  std::vector<Gpu> gpus;
  unsigned parts = 0;
  for (const std::string& address : addresses) {
    Gpu gpu = ReadGpu(root, address);
    gpu.index = static_cast<unsigned>(gpus.size());
    for (KfdNode& node : topology.nodes) {
      if (node.address != address) continue;
      Part part{.number = node.partition, .index = parts++};
      const auto card = cards.find(node.render);
      if (card != cards.end()) part.card = card->second;
      if (gpu.unique_id == 0) gpu.unique_id = node.unique_id;
      part.kfd = std::move(node);
      gpu.parts.push_back(std::move(part));
    }
    if (gpu.parts.empty() && !gpu.trouble) gpu.trouble = WhyNoParts(topology, address);
    gpus.push_back(std::move(gpu));
  }
  return Gpus{.generation = topology.generation, .gpus = std::move(gpus)};
}

bool HasNoGpu(const os::Root& root) {
  constexpr std::string_view kBus = "/sys/bus/pci/devices";
  const auto addresses = os::ListDirectory(root.Path(kBus));
  if (!addresses) return false;
  return std::ranges::none_of(*addresses, [&](const std::string& address) {
    const std::string function = root.Path(fmt::format("{}/{}", kBus, address));
    if (sysfs::Text(function + "/vendor") != "0x1002") return false;
    // Displays, and accelerators without one.
    const std::string pci_class = sysfs::HexText(function + "/class");
    const bool is_gpu = pci_class.starts_with("03") || pci_class.starts_with("12");
    const std::string driver = ReadPciFunction(root, address).driver;
    return is_gpu && (driver.empty() || driver == "amdgpu");
  });
}

std::string SmiUuid(uint64_t unique_id, std::string_view device_id) {
  const uint64_t device = sysfs::Number<uint64_t>(device_id, 16).value_or(0) & 0xffff;
  return fmt::format("{:02x}ff{:04x}-0000-1000-80{:02x}-{:04x}{:08x}", unique_id >> 56, device,
                     (unique_id >> 48) & 0xff, (unique_id >> 32) & 0xffff, unique_id & 0xffff'ffff);
}

std::optional<uint64_t> UniqueIdOf(std::string_view smi_uuid) {
  constexpr size_t kSize = 36;
  if (smi_uuid.size() != kSize || smi_uuid.substr(8, 13) != "-0000-1000-80") return std::nullopt;
  const std::string digits = fmt::format("{}{}{}{}", smi_uuid.substr(0, 2), smi_uuid.substr(21, 2),
                                         smi_uuid.substr(24, 4), smi_uuid.substr(28));
  return sysfs::Number<uint64_t>(digits, 16);
}

std::string RocmName(uint64_t unique_id) {
  return fmt::format("GPU-{:016x}", unique_id);
}

std::string ToolkitName(uint64_t unique_id) {
  return fmt::format("0x{:X}", unique_id);
}

}  // namespace tessera::amd
