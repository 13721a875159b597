// SPDX-License-Identifier: Apache-2.0
#include "grant/relations.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace tessera {
namespace {

Status CheckExclusion(const Offer& offer, std::span<const Device* const> devices) {
  std::map<std::string_view, const Device*> taken;
  for (const Device* device : devices) {
    for (const std::string& hardware : device->traits->takes) {
      const auto [by, first] = taken.try_emplace(hardware, device);
      if (first || by->second == device) continue;
      return Fail(Reason::kExcluded,
                  "{}: devices {} and {} cannot be granted together: each needs {} for itself",
                  offer.resource, by->second->key.id, device->key.id, hardware);
    }
  }
  return {};
}

Status CheckBundle(const Offer& offer, std::span<const Device* const> devices,
                   const Device& requested) {
  for (const Device& other : offer.devices) {
    if (other.traits->bundle != requested.traits->bundle) continue;
    if (std::ranges::count(devices, &other) > 0) continue;
    return Fail(Reason::kIncompleteBundle,
                "{}: device {} goes together with device {}, which is not requested with it",
                offer.resource, requested.key.id, other.key.id);
  }
  return {};
}

}  // namespace

Status CheckRelations(const Offer& offer, std::span<const Device* const> devices) {
  TRY(CheckExclusion(offer, devices));
  for (const Device* device : devices) {
    if (!device->traits->bundle.empty()) TRY(CheckBundle(offer, devices, *device));
  }
  return {};
}

}  // namespace tessera
