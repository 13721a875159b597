// SPDX-License-Identifier: Apache-2.0
#include "device/inventory.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tessera {
namespace {

bool Less(const Device& a, const Device& b) {
  return DeviceKeyLess()(a.key, b.key);
}

// Sorts a scan and leaves one device an id; which of two devices an id means nobody can say, so the
// one that stays is not to be used.
std::vector<Device> Unique(std::string_view source, std::vector<Device> scanned) {
  for (Device& device : scanned) device.key.source = source;
  std::stable_sort(scanned.begin(), scanned.end(), Less);
  std::vector<Device> unique;
  for (Device& device : scanned) {
    if (unique.empty() || unique.back().key != device.key) {
      unique.push_back(std::move(device));
    } else {
      unique.back().defect = Error{Reason::kDuplicateDevice, "two devices have this id"};
    }
  }
  return unique;
}

// Puts what is left of a device that the scan did not find into `merged`.
void Missing(const Device& known, const std::function<bool(const DeviceKey&)>& in_use,
             std::vector<Device>& devices, Merged& merged) {
  if (!known.present && !in_use(known.key)) {
    merged.removed.push_back(known.key);
    return;
  }
  if (known.present) merged.vanished.push_back(known.key);
  devices.push_back(known);
  devices.back().present = false;
}

InventoryPtr Next(const InventoryPtr& before, std::vector<Device> devices) {
  auto next = std::make_shared<Inventory>();
  next->generation = before->generation + 1;
  next->devices = std::move(devices);
  return next;
}

}  // namespace

const Device* Inventory::Find(const DeviceKey& key) const {
  const auto it = std::lower_bound(
      devices.begin(), devices.end(), key,
      [](const Device& device, const DeviceKey& k) { return DeviceKeyLess()(device.key, k); });
  return it != devices.end() && it->key == key ? &*it : nullptr;
}

Merged Merge(const InventoryPtr& before, std::string_view source, std::vector<Device> scanned,
             const std::function<bool(const DeviceKey&)>& in_use) {
  Merged merged;
  std::vector<Device> found = Unique(source, std::move(scanned));
  const Inventory listed{0, found};
  std::vector<Device> devices;
  for (const Device& known : before->devices) {
    if (known.key.source != source) {
      devices.push_back(known);
    } else if (listed.Find(known.key) == nullptr) {
      Missing(known, in_use, devices, merged);
    }
  }
  for (Device& device : found) {
    const Device* known = before->Find(device.key);
    if (known == nullptr || !known->present) merged.appeared.push_back(device.key);
    devices.push_back(std::move(device));
  }
  std::sort(devices.begin(), devices.end(), Less);
  const bool same = devices == before->devices;
  merged.inventory = same ? before : Next(before, std::move(devices));
  return merged;
}

InventoryPtr WithoutSource(const InventoryPtr& before, std::string_view source) {
  std::vector<Device> devices;
  std::copy_if(before->devices.begin(), before->devices.end(), std::back_inserter(devices),
               [&](const Device& device) { return device.key.source != source; });
  if (devices.size() == before->devices.size()) return before;
  return Next(before, std::move(devices));
}

}  // namespace tessera
