// SPDX-License-Identifier: Apache-2.0
#include "choose/toward.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "choose/narrow.h"
#include "device/nearest_pairs.h"

namespace tessera {
namespace {

// kubelet waits for the answer.
constexpr size_t kMostPairs = 131'072;

DeviceRefs OnTheBus(const DeviceList& devices) {
  DeviceRefs refs = RefsOf(devices);
  std::erase_if(refs, [](const Device* device) { return device->traits->pci_path.empty(); });
  return refs;
}

bool AnyInBoth(const DeviceRefs& a, const DeviceRefs& b) {
  std::set<std::string_view> paths;
  for (const Device* device : a) paths.insert(device->traits->pci_path);
  return std::ranges::any_of(
      b, [&](const Device* device) { return paths.contains(device->traits->pci_path); });
}

class Steering {
 public:
  Steering(const Offer& offer, const Preference& preference) : offer_(offer) {
    const std::set<std::string_view> included(preference.must_include.begin(),
                                              preference.must_include.end());
    for (const std::string& id : preference.must_include) {
      if (const Share* share = offer.shares.Find(id)) hardware_.Take(offer.devices[share->device]);
    }
    for (const std::string& id : preference.available) {
      const Share* share = offer.shares.Find(id);
      if (share != nullptr && IsProposed(offer, *share) && !included.contains(id))
        free_[&offer.devices[share->device]].insert(id);
    }
  }

  // Takes a share of each partner that has one. Returns the devices without such a partner.
  DeviceRefs Take(const DeviceRefs& granted, const DeviceRefs& all, const DeviceRefs& own,
                  size_t most) {
    DeviceRefs left;
    const std::vector<DevicePair> pairs =
        NearestPairs(all, own, static_cast<size_t>(std::max(offer_.plan.policy.replicas, 1)));
    for (const Device* device : granted) {
      if (chosen_.size() >= most) break;
      const auto pair = std::ranges::find_if(
          pairs, [&](const DevicePair& one) { return all[one.first] == device; });
      if (pair == pairs.end() || !TakeOf(own[pair->second])) left.push_back(device);
    }
    return left;
  }
  DeviceRefs WithRoom(const DeviceRefs& devices) const {
    DeviceRefs refs;
    std::ranges::copy_if(devices, std::back_inserter(refs),
                         [this](const Device* device) { return CanTake(*device); });
    return refs;
  }
  std::vector<std::string> Chosen() && { return std::move(chosen_); }

 private:
  bool TakeOf(const Device* device) {
    if (!CanTake(*device)) return false;
    const auto free = free_.find(device);
    hardware_.Take(*device);
    chosen_.push_back(*free->second.begin());
    free->second.erase(free->second.begin());
    if (free->second.empty()) free_.erase(free);
    return true;
  }

  bool CanTake(const Device& device) const {
    return free_.contains(&device) && device.traits->bundle.empty() && !hardware_.Excludes(device);
  }

  const Offer& offer_;
  TakenHardware hardware_;  // of must_include and the chosen ones
  std::map<const Device*, std::set<std::string, NaturalLess>> free_;
  std::vector<std::string> chosen_;
};

}  // namespace

std::vector<std::string> Toward(const Offer& offer, const Preference& preference,
                                const GrantedBeside& beside) {
  const DeviceRefs others = OnTheBus(beside.offer->devices);
  if (others.empty()) return {};
  const DeviceRefs own = OnTheBus(offer.devices);
  const auto included = static_cast<int>(preference.must_include.size());
  if (own.empty() || preference.size <= included) return {};
  if (own.size() * others.size() > kMostPairs || AnyInBoth(own, others)) return {};
  DeviceRefs granted;
  for (const std::string& id : beside.ids) {
    const Share* share = beside.offer->shares.Find(id);
    if (share == nullptr) continue;
    const Device* device = &beside.offer->devices[share->device];
    const bool usable = std::ranges::count(others, device) > 0;
    if (usable && std::ranges::count(granted, device) == 0) granted.push_back(device);
  }
  if (granted.empty()) return {};
  const auto most = static_cast<size_t>(preference.size - included);
  Steering steering(offer, preference);
  const DeviceRefs left = steering.Take(granted, others, own, most);
  (void)steering.Take(left, left, steering.WithRoom(own), most);
  return std::move(steering).Chosen();
}

}  // namespace tessera
