// SPDX-License-Identifier: Apache-2.0
#include "device/capacity.h"

#include <set>
#include <string_view>
#include <utility>

namespace tessera {

Capacity TotalOf(const DeviceList& devices) {
  Capacity total;
  std::set<std::pair<std::string_view, std::string_view>> counted;  // parents, by source
  for (const Device& device : devices) {
    for (const auto& [name, amount] : device.traits->capacities) total.others[name] += amount;
    const bool counts = !device.traits->shares_memory || device.parent.empty() ||
                        counted.emplace(device.key.source, device.parent).second;
    if (counts) total.memory += device.memory;
  }
  return total;
}

}  // namespace tessera
