// SPDX-License-Identifier: Apache-2.0
#include "device/compose.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

template <class Item>
void AddOthers(const std::vector<Item>& items, std::vector<Item>& all) {
  for (const Item& item : items) {
    if (std::ranges::count(all, item) == 0) all.push_back(item);
  }
}

void Add(const ComposedPart& part, Device& whole, DeviceTraits& traits) {
  const Device& device = part.device;
  AddOthers(device.nodes, whole.nodes);
  AddOthers(device.mounts, whole.mounts);
  AddOthers(device.numa_nodes, whole.numa_nodes);
  traits.parts.push_back(device.key);
  if (!part.shared) {
    AddOthers(device.traits->takes, traits.takes);
    AddOthers({PartName(device.key)}, traits.takes);
  }
  if (!part.variable.empty()) JoinVariable(part.variable, device.visible_as, traits.variables);
  for (const auto& [name, value] : device.traits->variables)
    JoinVariable(name, value, traits.variables);
}

}  // namespace

Device Compose(const DeviceKey& key, const ComposedPart& a, const ComposedPart& b) {
  Device whole;
  whole.key = key;
  whole.model = a.device.model + " + " + b.device.model;
  whole.address = a.device.address;
  whole.memory = a.device.memory;
  whole.visible_as = key.id;
  whole.order = a.device.order;
  DeviceTraits traits;
  traits.bundle = a.device.traits->bundle;
  Add(a, whole, traits);
  Add(b, whole, traits);
  std::ranges::sort(whole.numa_nodes);
  whole.traits = std::move(traits);
  return whole;
}

std::string PartName(const DeviceKey& part) {
  return part.Text();
}

}  // namespace tessera
