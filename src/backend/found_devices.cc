// SPDX-License-Identifier: Apache-2.0
#include "backend/found_devices.h"

#include <utility>

namespace tessera {

// Each scan describes the devices anew.
bool FoundDevices::Terms::operator==(const Terms& other) const {
  const bool same_cdi =
      cdi == nullptr || other.cdi == nullptr ? cdi == other.cdi : *cdi == *other.cdi;
  return variable == other.variable && shares == other.shares && whole == other.whole && same_cdi;
}

void FoundDevices::Put(const std::string& resource, Terms terms, InventoryPtr inventory) {
  const MutexLock lock(mutex_);
  const auto known = scanned_.find(resource);
  if (known != scanned_.end() && known->second == terms && inventory_ == inventory) return;
  scanned_.insert_or_assign(resource, std::move(terms));
  inventory_ = std::move(inventory);
  for (const auto& [number, changed] : watchers_) changed();
}

void FoundDevices::Drop(const std::string& resource) {
  const MutexLock lock(mutex_);
  expected_.erase(resource);
  if (scanned_.erase(resource) == 0) return;
  for (const auto& [number, changed] : watchers_) changed();
}

void FoundDevices::Expect(const std::string& resource) {
  const MutexLock lock(mutex_);
  expected_.insert(resource);
}

void FoundDevices::SetFamilies(std::vector<Family> families) {
  const MutexLock lock(mutex_);
  if (families_ == families) return;
  families_ = std::move(families);
  for (const auto& [number, changed] : watchers_) changed();
}

bool FoundDevices::IsKnownToBeAbsent(const std::string& resource) const {
  if (expected_.contains(resource)) return false;
  bool of_family = false;
  for (const Family& family : families_) {
    if (!family.may_have(resource)) continue;
    if (!family.members || family.members->contains(resource)) return false;
    of_family = true;
  }
  return of_family;
}

std::optional<FoundDevices::Found> FoundDevices::Of(const std::string& resource) const {
  const MutexLock lock(mutex_);
  const auto known = scanned_.find(resource);
  if (known == scanned_.end()) {
    return IsKnownToBeAbsent(resource) ? std::optional(Found()) : std::nullopt;
  }
  Found found{.terms = known->second};
  for (const Device& device : inventory_->devices) {
    if (device.present && device.key.source == resource) found.devices.push_back(device);
  }
  return found;
}

std::vector<Device> FoundDevices::Known(const std::string& resource) const {
  std::vector<Device> known;
  const MutexLock lock(mutex_);
  for (const Device& device : inventory_->devices) {
    if (device.key.source == resource) known.push_back(device);
  }
  return known;
}

std::vector<Device> FoundDevices::KnownAt(const std::string& address) const {
  std::vector<Device> known;
  const MutexLock lock(mutex_);
  for (const Device& device : inventory_->devices) {
    if (device.address == address) known.push_back(device);
  }
  return known;
}

FoundDevices::Handle FoundDevices::Watch(std::function<void()> changed) {
  const MutexLock lock(mutex_);
  const int number = next_++;
  watchers_.emplace(number, std::move(changed));
  return {nullptr, [this, number](void*) {
            const MutexLock ending(mutex_);
            watchers_.erase(number);
          }};
}

}  // namespace tessera
