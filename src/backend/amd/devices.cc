// SPDX-License-Identifier: Apache-2.0
#include "backend/amd/devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "backend/amd/vgpu.h"
#include "backend/node_facts.h"
#include "backend/pci_place.h"
#include "base/text.h"
#include "config/schema/family.h"

namespace tessera::amd {
namespace {

constexpr int64_t kMib = 1 << 20;
constexpr int kMostPoints = 90;

// A resource of a family has the devices of its profile, the family itself those of all.
bool IsChosen(const std::string& resource, const AmdConfig& config, const Gpu& gpu) {
  if (std::ranges::count(config.exclude, gpu.address, &AmdConfig::Excluded::address) > 0) {
    return false;
  }
  if (!config.profile.empty() && config.profile != gpu.Profile()) return false;
  return config.family.empty() || resource == config.family ||
         resource == config::MemberName(config.family, gpu.Profile());
}

std::string ResourceOf(const std::string& resource, const AmdConfig& config, const Gpu& gpu) {
  return config.family.empty() ? resource : config::MemberName(config.family, gpu.Profile());
}

// The toolkit takes a serial number for all parts of a GPU, so it is a name of whole GPUs alone.
std::string NameOf(const AmdConfig& config, const Gpu& gpu, unsigned index) {
  const bool has_serial = gpu.unique_id != 0;
  switch (config.names) {
    case AmdConfig::Names::kUuid:
      return has_serial ? RocmName(gpu.unique_id) : gpu.address;
    case AmdConfig::Names::kToolkit:
      if (has_serial && gpu.IsWhole()) return ToolkitName(gpu.unique_id);
      break;
    case AmdConfig::Names::kIndex:
      break;
  }
  return std::to_string(index);
}

// The parts of the hardware that a part has, in 24ths of a GPU: 24 can be divided by every mode's
// number of parts. A GPU that is divided anew, or gets another id, while a container has it is not
// granted twice. Nor is the render node of a lost GPU that a container has: a driver that is loaded
// again gives its number to another.
std::vector<std::string> HardwareOf(const Gpu& gpu, const Part& part) {
  constexpr size_t kPieces = 24;
  const std::string node = fmt::format("amd/renderD{}", part.kfd.render);
  if (gpu.compute.empty() && !gpu.IsWhole()) return {node};
  size_t parts = gpu.IsWhole() ? 1 : 8;
  for (const size_t count : {6U, 4U, 3U, 2U}) {
    if (!gpu.IsWhole() && gpu.parts.size() <= count && gpu.parts.back().number < count)
      parts = count;
  }
  const size_t each = kPieces / parts, first = part.number * each;
  std::vector<std::string> pieces;
  for (size_t piece = first; piece < first + each; ++piece) {
    pieces.push_back(fmt::format("amd/{}/{}", gpu.address, piece));
  }
  pieces.push_back(node);
  return pieces;
}

// What all parts of a GPU have in common. `place`: the GPU's on the PCI bus.
Device Base(const std::string& resource, const AmdConfig& config, const DeviceTraits& place,
            const Gpu& gpu, const Part* part) {
  Device device;
  device.key = {ResourceOf(resource, config, gpu), IdOf(config, gpu, part)};
  device.model = gpu.product.empty() ? fmt::format("AMD GPU {}", gpu.device_id) : gpu.product;
  device.address = gpu.address;
  device.visible_as = NameOf(config, gpu, part == nullptr ? gpu.index : part->index);
  device.order = static_cast<int>(gpu.index) * kOrderStep +
                 (part == nullptr ? 0 : static_cast<int>(part->number));
  if (gpu.numa) device.numa_nodes = {*gpu.numa};
  device.traits = place;
  return device;
}

// Calls `visit` with each other part.
template <class F>
void ForOthers(const std::vector<Gpu>& gpus, const Part& part, F visit) {
  for (const Gpu& other : gpus) {
    for (const Part& to : other.parts) {
      if (&to != &part) visit(other, to);
    }
  }
}

bool HaveLinks(const std::vector<Gpu>& gpus) {
  return std::ranges::any_of(gpus, [](const Gpu& gpu) {
    return std::ranges::any_of(gpu.parts, [](const Part& part) { return !part.kfd.links.empty(); });
  });
}

// The points that every pair has. Without links NUMA nodes alone order what is preferred.
int CommonPoints(const std::vector<Gpu>& gpus) {
  int least = kMostPoints;
  if (!HaveLinks(gpus)) return least;
  for (const Gpu& gpu : gpus) {
    for (const Part& part : gpu.parts) {
      ForOthers(gpus, part, [&](const Gpu& other, const Part& to) {
        least = std::min(least, PointsOf(gpu, part, other, to));
      });
    }
  }
  return least;
}

std::vector<Link> LinksOf(const AmdConfig& config, const std::vector<Gpu>& gpus, int common,
                          const Gpu& gpu, const Part& part) {
  std::vector<Link> links;
  if (common == kMostPoints) return links;
  ForOthers(gpus, part, [&](const Gpu& other, const Part& to) {
    const int points = PointsOf(gpu, part, other, to) - common;
    if (points > 0) links.push_back({IdOf(config, other, &to), points});
  });
  std::ranges::sort(links, NaturalLess(), &Link::peer);
  return links;
}

Device DescribePart(const os::Root& root, const std::string& resource, const AmdConfig& config,
                    const std::vector<Gpu>& gpus, int common, const DeviceTraits& place,
                    const Gpu& gpu, const Part& part) {
  Device device = Base(resource, config, place, gpu, &part);
  device.memory = static_cast<int64_t>(part.kfd.memory / kMib);
  device.links = LinksOf(config, gpus, common, gpu, part);
  if (!gpu.IsWhole()) {
    device.parent = IdOf(config, gpu, nullptr);
    device.model += " " + gpu.Profile();
  }
  // HAMi's scheduler knows a GPU by the minor of its card, which its registration has.
  if (config.vgpu.on && part.card) device.order = *part.card * kOrderStep;
  DeviceTraits traits = place;
  traits.shares_memory = !gpu.IsWhole() && !gpu.HasMemoryPerPart();
  traits.takes = HardwareOf(gpu, part);
  if (part.kfd.cus() > 0) traits.capacities[kComputeUnits] = static_cast<int64_t>(part.kfd.cus());
  device.traits = std::move(traits);
  const auto node = [](const std::string& path, bool optional = false) {
    return WantedNode{{.host_path = path, .container_path = path}, optional};
  };
  std::vector<WantedNode> nodes = {node("/dev/kfd"),
                                   node(fmt::format("/dev/dri/renderD{}", part.kfd.render))};
  // Programs that only compute do not need the card; the kernel has too few numbers for some.
  if (part.card) nodes.push_back(node(fmt::format("/dev/dri/card{}", *part.card), true));
  AddNodes(root, nodes, device);
  return device;
}

}  // namespace

std::string IdOf(const AmdConfig& config, const Gpu& gpu, const Part* part) {
  const bool by_uuid = config.ids == AmdConfig::Ids::kUuid && gpu.unique_id != 0;
  const std::string id = by_uuid ? SmiUuid(gpu.unique_id, gpu.device_id) : gpu.address;
  return part == nullptr || gpu.IsWhole() ? id : fmt::format("{}-{}", id, part->number);
}

int PointsOf(const Gpu& a, const Part& a_part, const Gpu& b, const Part& b_part) {
  const auto link = a_part.kfd.links.find(b_part.kfd.number);
  const uint64_t type = link == a_part.kfd.links.end() ? 0 : link->second.type;
  const int device = a.address == b.address ? 10 : 20;
  const int by_link = type == kXgmiLink ? 10 : type == kPcieLink ? 40 : 50;
  const int numa = a.numa && a.numa == b.numa ? 10 : 20;
  return kMostPoints - device - by_link - numa;
}

std::vector<Device> DevicesOf(const os::Root& root, const std::string& resource,
                              const AmdConfig& config, const std::vector<Gpu>& gpus) {
  std::vector<Gpu> chosen;
  std::ranges::copy_if(gpus, std::back_inserter(chosen),
                       [&](const Gpu& gpu) { return IsChosen(resource, config, gpu); });
  const int common = CommonPoints(chosen);
  std::vector<Device> devices;
  for (const Gpu& gpu : chosen) {
    DeviceTraits place;
    ReadPciPlace(root, gpu.address, place);
    if (gpu.trouble && gpu.parts.empty()) {
      Device device = Base(resource, config, place, gpu, nullptr);
      device.defect = gpu.trouble;
      devices.push_back(std::move(device));
    }
    for (const Part& part : gpu.parts) {
      devices.push_back(DescribePart(root, resource, config, chosen, common, place, gpu, part));
      if (gpu.trouble) devices.back().defect = gpu.trouble;
      if (!devices.back().defect) {
        devices.back().defect = VgpuTrouble(config, devices.back(), part.kfd.gfx_version);
      }
    }
  }
  return devices;
}

}  // namespace tessera::amd
