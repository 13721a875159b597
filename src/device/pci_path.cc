// SPDX-License-Identifier: Apache-2.0
#include "device/pci_path.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

using Way = std::vector<std::string_view>;  // from the root complex

Way WayOf(std::string_view path) {
  Way way;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    way.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return way;
}

// "0000:47:00.1" -> "0000:47:00".
std::string_view SlotOf(std::string_view function) {
  return function.substr(0, function.rfind('.'));
}

int PointsOf(const Way& a, const Way& b) {
  const auto [parting, of_b] = std::ranges::mismatch(a, b);
  const auto common = static_cast<size_t>(parting - a.begin());
  if (common == 0) return 0;
  const size_t longer = std::max(a.size(), b.size());
  const size_t shorter = std::min(a.size(), b.size());
  const bool siblings = longer == common + 1 && shorter == longer;
  if (common == shorter || (siblings && SlotOf(a.back()) == SlotOf(b.back()))) return 60;
  if (common == 1) return 30;
  // Below the last that they share each has a port of the switch, and the function itself.
  return longer <= common + 2 ? 50 : 40;
}

// A device on the bus, and its place in the list.
struct Stop {
  Way way;
  size_t device = 0;
};

// What is near to a stop lies around it where they are sorted by their ways, the nearest first.
std::vector<std::pair<size_t, int>> Around(const std::vector<Stop>& stops, size_t at) {
  const auto points = [&](size_t other) {
    return other < stops.size() ? PointsOf(stops[at].way, stops[other].way) : 0;
  };
  std::vector<std::pair<size_t, int>> found;
  size_t below = at - 1;  // before the first: past the last
  size_t above = at + 1;
  int lower = points(below);
  int upper = points(above);
  while (found.size() < kMostPciLinks && std::max(lower, upper) > 0) {
    if (lower >= upper) {
      found.emplace_back(stops[below--].device, lower);
      lower = points(below);
    } else {
      found.emplace_back(stops[above++].device, upper);
      upper = points(above);
    }
  }
  return found;
}

}  // namespace

int PciPoints(std::string_view a, std::string_view b) {
  return PointsOf(WayOf(a), WayOf(b));
}

std::vector<std::vector<Link>> PciLinks(const DeviceList& devices) {
  std::vector<Stop> stops;
  for (size_t i = 0; i < devices.size(); ++i) {
    Way way = WayOf(devices[i].traits->pci_path);
    if (!way.empty()) stops.push_back({std::move(way), i});
  }
  std::ranges::stable_sort(stops, {}, &Stop::way);
  std::vector<std::vector<Link>> links(devices.size());
  for (size_t at = 0; at < stops.size(); ++at) {
    const size_t own = stops[at].device;
    std::vector<std::pair<size_t, int>> near = Around(stops, at);
    std::ranges::sort(near);
    for (const auto& [other, points] : near) {
      const DeviceKey& key = devices[other].key;
      const bool same = key.source == devices[own].key.source;
      links[own].push_back({key.id, points, same ? "" : key.source});
    }
  }
  return links;
}

}  // namespace tessera
