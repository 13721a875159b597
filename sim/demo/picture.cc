// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/picture.h"

#include <algorithm>

#include "base/text.h"
#include "share/share.h"

namespace tessera::demo {
namespace {

bool LooksLike(const Tile& a, const Tile& b) {
  return a.label == b.label && a.state == b.state && a.why == b.why && a.cells == b.cells &&
         a.taken == b.taken;
}

// The model in few columns. A MIG device's profile is in its resource's name already.
std::string ModelOf(const HardwareDevice& device) {
  constexpr std::string_view kVendor = "NVIDIA ";
  if (device.index.find(':') != std::string::npos) return "";
  return device.name.starts_with(kVendor) ? device.name.substr(kVendor.size()) : device.name;
}

}  // namespace

int Tile::held() const {
  return static_cast<int>(std::count_if(cells.begin(), cells.end(),
                                        [](const Cell& cell) { return !cell.pod.empty(); }));
}

void Picture::Update(const Observation& observation) {
  now = std::max(now, observation.at);
  worth_.Learn(observation);
  if (const auto* said = std::get_if<Caption>(&observation.what)) {
    story = said->text;
  } else if (const auto* moved = std::get_if<KubeletMoved>(&observation.what)) {
    kubelet_up = moved->up;
  } else if (const auto* agent = std::get_if<AgentMoved>(&observation.what)) {
    std::erase(agents, agent->pid);
    if (agent->up) agents.push_back(agent->pid);
    if (agents.empty()) judgements.clear();
  } else if (const auto* tried = std::get_if<PodTried>(&observation.what)) {
    ++(tried->admission.admitted ? pods : refused);
  } else if (std::get_if<PodEnded>(&observation.what) != nullptr) {
    --pods;
  } else if (const auto* hardware = std::get_if<HardwareMade>(&observation.what)) {
    names_.Learn(hardware->devices);
  } else if (const auto* inventory = std::get_if<InventoryRead>(&observation.what)) {
    judgements = inventory->devices;
  } else if (const auto* wait = std::get_if<Waiting>(&observation.what)) {
    waiting = wait->text;
  } else if (std::get_if<Expected>(&observation.what) != nullptr) {
    waiting.clear();
  }
  UpdatePanels(observation.resources);
}

void Picture::Add(const Event& event) {
  if (event.quiet) return;
  events.push_back(event);
  if (events.size() > kEvents) events.pop_front();
}

void Picture::UpdatePanels(const std::vector<kubelet::ResourceStatus>& resources) {
  std::vector<Panel> next;
  for (const kubelet::ResourceStatus& resource : resources) {
    Panel panel = PanelOf(resource);
    const auto before = std::find_if(panels.begin(), panels.end(),
                                     [&](const Panel& other) { return other.name == panel.name; });
    std::map<std::string_view, const Tile*> old;
    if (before != panels.end()) {
      for (const Tile& tile : before->tiles) old[tile.id] = &tile;
    }
    for (Tile& tile : panel.tiles) {
      const auto was = old.find(tile.id);
      const bool same = was != old.end() && LooksLike(*was->second, tile);
      tile.changed = same ? was->second->changed : now;
    }
    // A kubelet that has just started knows only the devices that its pods hold. The former tiles,
    // dimmed, are a better picture than none.
    if (panel.tiles.empty() && before != panels.end() && !panel.connected) {
      panel.tiles = before->tiles;
      for (Tile& tile : panel.tiles) tile.state = TileState::kUnknown;
    }
    next.push_back(std::move(panel));
  }
  panels = std::move(next);
}

Panel Picture::PanelOf(const kubelet::ResourceStatus& resource) const {
  const bool connected = resource.connected && kubelet_up;
  Panel panel{.name = resource.name,
              .capacity = resource.capacity,
              .allocatable = resource.allocatable,
              .connected = connected,
              .tiles = {}};
  std::vector<bool> healthy;
  for (const kubelet::DeviceStatus& device : resource.devices) {
    const std::string id = DeviceOfShare(device.id);
    if (panel.tiles.empty() || panel.tiles.back().id != id) {
      panel.tiles.push_back({.id = id, .label = names_.Of(id), .why = {}, .cells = {}});
      if (worth_.IsDivided(resource.name)) {
        panel.tiles.back().memory = worth_.MemoryOf(id);
        panel.tiles.back().taken = worth_.TakenOf(id);
      }
      healthy.push_back(true);
    }
    const std::string pod = device.pod.empty() ? "" : PodText(device.pod_namespace, device.pod);
    if (!pod.empty()) ++panel.held;
    panel.tiles.back().cells.push_back({pod});
    healthy.back() = healthy.back() && device.healthy;
  }
  std::set<std::string> models;
  for (size_t i = 0; i < panel.tiles.size(); ++i) {
    Judge(resource.name, connected, healthy[i], panel.tiles[i]);
    const HardwareDevice* device = names_.Find(panel.tiles[i].id);
    models.insert(device == nullptr ? "" : ModelOf(*device));
  }
  if (models.size() == 1) panel.model = *models.begin();
  std::ranges::stable_sort(panel.tiles, NaturalLess(), &Tile::label);
  return panel;
}

void Picture::Judge(const std::string& resource, bool connected, bool healthy, Tile& tile) const {
  const auto found = judgements.find({resource, tile.id});
  const DeviceJudged judged = found == judgements.end() ? DeviceJudged{} : found->second;
  tile.state = tile.held() > 0 ? TileState::kHeld : TileState::kFree;
  if (!connected) {
    tile.state = TileState::kUnknown;
  } else if (judged.cordoned) {
    tile.state = TileState::kCordoned;
    tile.why = "cordoned";
  } else if (!healthy) {
    tile.state = TileState::kUnhealthy;
    tile.why = judged.state == "recovering" ? judged.state : judged.reason;
  } else if (judged.state == "suspect") {
    tile.state = TileState::kSuspect;
    tile.why = judged.reason;
  }
}

}  // namespace tessera::demo
