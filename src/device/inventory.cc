// SPDX-License-Identifier: Apache-2.0
#include "device/inventory.h"

#include <algorithm>
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
  // Most kinds find them in order, and sorting takes as much memory again.
  if (!std::is_sorted(scanned.begin(), scanned.end(), Less)) {
    std::stable_sort(scanned.begin(), scanned.end(), Less);
  }
  auto end = scanned.begin();
  for (auto next = scanned.begin(); next != scanned.end(); ++next) {
    if (end != scanned.begin() && (end - 1)->key == next->key) {
      (end - 1)->defect = Error{Reason::kDuplicateDevice, "two devices have this id"};
    } else {
      if (end != next) *end = std::move(*next);
      ++end;
    }
  }
  scanned.erase(end, scanned.end());
  return scanned;
}

InventoryPtr Next(const InventoryPtr& before, DeviceList devices) {
  auto next = std::make_shared<Inventory>();
  next->generation = before->generation + 1;
  next->devices = std::move(devices);
  return next;
}

// What becomes of a device that the scan did not find.
void AddMissing(const DevicePtr& known, const std::function<bool(const DeviceKey&)>& in_use,
                DeviceList& devices, Merged& merged) {
  if (!known->present) {
    if (in_use(known->key)) {
      devices.push_back(known);
    } else {
      merged.removed.push_back(known->key);
    }
    return;
  }
  merged.vanished.push_back(known->key);
  Device vanished = *known;
  vanished.present = false;
  devices.push_back(std::move(vanished));
}

// What the scan found; the device as it is known, when nothing about it changed.
void AddFound(const DevicePtr* known, Device device, DeviceList& devices) {
  if (known != nullptr && **known == device) {
    devices.push_back(*known);
  } else {
    devices.push_back(std::move(device));
  }
}

}  // namespace

std::optional<size_t> Inventory::PositionOf(const DeviceKey& key) const {
  const auto it = std::lower_bound(
      devices.begin(), devices.end(), key,
      [](const Device& device, const DeviceKey& k) { return DeviceKeyLess()(device.key, k); });
  if (it == devices.end() || it->key != key) return std::nullopt;
  return static_cast<size_t>(it - devices.begin());
}

const Device* Inventory::Find(const DeviceKey& key) const {
  const auto position = PositionOf(key);
  return position ? &devices[*position] : nullptr;
}

Merged Merge(const InventoryPtr& before, std::string_view source, std::vector<Device> scanned,
             const std::function<bool(const DeviceKey&)>& in_use) {
  Merged merged;
  std::vector<Device> found = Unique(source, std::move(scanned));
  DeviceList devices;
  devices.reserve(found.size());
  // Both are in order: one walk through both.
  auto next = found.begin();
  for (size_t i = 0; i < before->devices.size(); ++i) {
    const DevicePtr& known = before->devices.Shared(i);
    for (; next != found.end() && DeviceKeyLess()(next->key, known->key); ++next) {
      AddFound(nullptr, std::move(*next), devices);
    }
    if (next != found.end() && next->key == known->key) {
      AddFound(&known, std::move(*next++), devices);
    } else if (known->key.source != source) {
      devices.push_back(known);
    } else {
      AddMissing(known, in_use, devices, merged);
    }
  }
  for (; next != found.end(); ++next) AddFound(nullptr, std::move(*next), devices);
  const bool same = devices == before->devices;
  merged.inventory = same ? before : Next(before, std::move(devices));
  return merged;
}

}  // namespace tessera
