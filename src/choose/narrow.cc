// SPDX-License-Identifier: Apache-2.0
#include "choose/narrow.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace tessera {
namespace {

bool HasRelations(const Device& device) {
  return !device.traits->takes.empty() || !device.traits->bundle.empty();
}

class Narrowing {
 public:
  Narrowing(const Offer& offer, std::span<const std::string> available,
            std::span<const std::string> included, size_t size)
      : offer_(offer), size_(size), free_(offer.devices.size()) {
    std::set<std::string_view> taken(included.begin(), included.end());
    for (const std::string& id : available) {
      const auto at = offer.shares.PositionOf(id);
      const bool proposed = at && IsProposed(offer, offer.shares[*at]) && !taken.contains(id);
      if (proposed) free_[offer.shares[*at].device].insert(*at);
    }
    narrowed_.included.assign(included.begin(), included.end());
    for (const std::string& id : included) {
      if (const Share* share = offer.shares.Find(id)) Have(share->device);
    }
    for (uint32_t device = 0; device < offer.devices.size(); ++device) {
      const std::string& bundle = offer.devices[device].traits->bundle;
      if (!bundle.empty()) bundles_[bundle].push_back(device);
    }
  }

  Narrowed Run() && {
    for (const bool begun : {true, false}) {
      for (const auto& [name, devices] : bundles_) {
        const bool is_begun = std::ranges::any_of(devices, [this](uint32_t d) { return Has(d); });
        if (is_begun == begun) TakeWhole(devices);
      }
    }
    LetGoAlone();
    return std::move(narrowed_);
  }

 private:
  bool Has(uint32_t device) const { return devices_.contains(device); }
  void Have(uint32_t device) {
    devices_.insert(device);
    hardware_.Take(offer_.devices[device]);
  }
  bool IsExcluded(uint32_t device) const { return hardware_.Excludes(offer_.devices[device]); }

  // Takes a share of each missing device of the bundle, if each has one and all of them fit.
  void TakeWhole(const std::vector<uint32_t>& bundle) {
    std::vector<uint32_t> missing;
    std::ranges::copy_if(bundle, std::back_inserter(missing),
                         [this](uint32_t device) { return !Has(device); });
    const bool all = std::ranges::all_of(
        missing, [this](uint32_t d) { return !free_[d].empty() && !IsExcluded(d); });
    if (!all || narrowed_.included.size() + missing.size() > size_) return;
    for (const uint32_t device : missing) {
      narrowed_.included.push_back(offer_.shares[*free_[device].begin()].id);
      free_[device].erase(free_[device].begin());
      Have(device);
    }
  }

  // Devices that take less hardware come first. A taken bundle may have further shares.
  void LetGoAlone() {
    std::vector<std::pair<size_t, uint32_t>> order;
    for (uint32_t device = 0; device < free_.size(); ++device) {
      const DeviceTraits& traits = *offer_.devices[device].traits;
      if (traits.bundle.empty() || Has(device)) order.emplace_back(traits.takes.size(), device);
    }
    std::ranges::sort(order);
    for (const auto& [takes, device] : order) {
      if (free_[device].empty() || IsExcluded(device)) continue;
      Have(device);
      for (const uint32_t at : free_[device]) {
        narrowed_.available.push_back(offer_.shares[at].id);
      }
    }
  }

  const Offer& offer_;
  const size_t size_;
  std::vector<std::set<uint32_t>> free_;  // by device: positions of its shares
  std::map<std::string_view, std::vector<uint32_t>> bundles_;
  std::set<uint32_t> devices_;  // devices that are chosen or can be
  TakenHardware hardware_;      // by these
  Narrowed narrowed_;
};

}  // namespace

bool IsProposed(const Offer& offer, const Share& share) {
  return offer.IsHealthy(share) && !offer.IsKept(share.device);
}

void TakenHardware::Take(const Device& device) {
  for (const std::string& hardware : device.traits->takes) takers_.try_emplace(hardware, &device);
}

bool TakenHardware::Excludes(const Device& device) const {
  return std::ranges::any_of(device.traits->takes, [&](const std::string& hardware) {
    const auto taker = takers_.find(hardware);
    return taker != takers_.end() && taker->second != &device;
  });
}

std::optional<Narrowed> Narrow(const Offer& offer, std::span<const std::string> available,
                               std::span<const std::string> included, size_t size) {
  const bool any = std::any_of(offer.devices.begin(), offer.devices.end(), HasRelations);
  if (!any) return std::nullopt;
  return Narrowing(offer, available, included, size).Run();
}

}  // namespace tessera
