// SPDX-License-Identifier: Apache-2.0
#include "device/pci_path.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace tessera {
namespace {

// "0000:47:00.1" -> "0000:47:00".
std::string_view SlotOf(std::string_view function) {
  return function.substr(0, function.rfind('.'));
}

}  // namespace

int PciPoints(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return 0;
  const std::vector<std::string> way_a = Split(a, '/');
  const std::vector<std::string> way_b = Split(b, '/');
  size_t common = 0;
  while (common < way_a.size() && common < way_b.size() && way_a[common] == way_b[common]) {
    ++common;
  }
  if (common == 0) return 0;
  const size_t longer = std::max(way_a.size(), way_b.size());
  const size_t shorter = std::min(way_a.size(), way_b.size());
  const bool siblings = longer == common + 1 && shorter == longer;
  if (common == shorter || (siblings && SlotOf(way_a.back()) == SlotOf(way_b.back()))) return 60;
  if (common == 1) return 30;
  // Below the last that they share each has a port of the switch, and the function itself.
  return longer <= common + 2 ? 50 : 40;
}

std::vector<Link> PciLinks(const Device& device, const DeviceList& devices) {
  std::vector<Link> links;
  if (device.traits->pci_path.empty()) return links;
  for (const Device& other : devices) {
    if (other.key == device.key) continue;
    const int points = PciPoints(device.traits->pci_path, other.traits->pci_path);
    if (points == 0) continue;
    const bool own = other.key.source == device.key.source;
    links.push_back({other.key.id, points, own ? "" : other.key.source});
  }
  return links;
}

}  // namespace tessera
