// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/topology.h"

#include <fmt/core.h>

#include <algorithm>

#include "backend/nvidia/core/gpu.h"
#include "base/text.h"

namespace tessera::nvidia {
namespace {

using nvml::TopologyLevel;

constexpr int kPointsOfNvLink = 100;
constexpr int kMostCounted = 18;  // NVLinks of a pair

int PointsOf(TopologyLevel level) {
  switch (level) {
    case TopologyLevel::kInternal:
      return 60;
    case TopologyLevel::kSingle:
      return 50;
    case TopologyLevel::kMultiple:
      return 40;
    case TopologyLevel::kHostBridge:
      return 30;
    case TopologyLevel::kNode:
      return 20;
    case TopologyLevel::kSystem:
      return 10;
  }
  return 0;  // a level of a newer driver
}

int NvLinksBetween(const Gpu& a, const Gpu& b) {
  const auto direct = a.nvlinks.to_gpus.find(b.pci);
  const int links = direct == a.nvlinks.to_gpus.end() ? 0 : direct->second;
  return std::min(links + std::min(a.nvlinks.to_switches, b.nvlinks.to_switches), kMostCounted);
}

}  // namespace

std::string SysfsAddress(const nvml::PciInfo& pci) {
  // Domains have four digits, and more only if they need them.
  return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

NvLinks ReadNvLinks(const nvml::Library& library, nvml::DeviceHandle gpu) {
  NvLinks links;
  for (unsigned link = 0; link < nvml::kMostNvLinks; ++link) {
    const auto up = library.IsNvLinkUp(gpu, link);
    // Links are numbered without gaps. A GPU without links does not support the call.
    if (!up && up.error().code == nvml::Return::kNotSupported) break;
    if (!up && up.error().code == nvml::Return::kInvalidArgument) break;
    if (!up || !*up) continue;
    const auto type = library.NvLinkRemote(gpu, link);
    if (type && *type == nvml::NvLinkRemoteType::kSwitch) {
      ++links.to_switches;
      continue;
    }
    if (const auto remote = library.NvLinkRemotePci(gpu, link)) {
      ++links.to_gpus[SysfsAddress(*remote)];
    }
  }
  return links;
}

Levels ReadLevels(const nvml::Library& library, unsigned gpu,
                  const std::map<std::string, unsigned>& others) {
  const nvml::Use use(library, gpu);
  Levels levels;
  const auto own = library.DeviceByIndex(gpu);
  for (const auto& [uuid, index] : others) {
    const auto other = library.DeviceByIndex(index);
    if (!own || !other) {
      levels[uuid] = TopologyLevel::kSystem;
    } else {
      levels[uuid] = library.CommonAncestor(*own, *other).value_or(TopologyLevel::kSystem);
    }
  }
  return levels;
}

std::vector<Link> LinksOf(const Gpu& gpu, const std::map<unsigned, Gpu>& gpus,
                          const Levels& levels) {
  std::vector<Link> links;
  for (const auto& [index, other] : gpus) {
    if (other.uuid == gpu.uuid) continue;
    const auto level = levels.find(other.uuid);
    const int points = kPointsOfNvLink * NvLinksBetween(gpu, other) +
                       (level == levels.end() ? 0 : PointsOf(level->second));
    if (points > 0) links.push_back({other.uuid, points});
  }
  std::sort(links.begin(), links.end(),
            [](const Link& a, const Link& b) { return NaturalLess()(a.peer, b.peer); });
  return links;
}

}  // namespace tessera::nvidia
