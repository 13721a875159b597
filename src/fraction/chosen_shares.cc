// SPDX-License-Identifier: Apache-2.0
#include "fraction/chosen_shares.h"

#include <algorithm>
#include <optional>

#include "hami/pod_placement.h"
#include "placement/placement.h"
#include "share/share.h"

namespace tessera {
namespace {

using Cards = std::vector<std::string>;

// The cards that all waiting containers with this number of shares agree on. Nothing if there is no
// such container, or they differ.
std::optional<Cards> AgreedCards(std::span<const PodPtr> waiting, const Offer& offer,
                                 const FractionRules& fractions, size_t size) {
  const RequestRules rules = RulesOf(offer.resource, *fractions.requests);
  const auto capacities = CapacitiesOf(offer, fractions);
  std::optional<Cards> agreed;
  for (const PodPtr& pod : waiting) {
    const auto placement =
        hami::ReadPlacement(*pod, *fractions.requests->vendor, rules, capacities);
    if (!placement) continue;  // no valid placement for this resource
    for (const PlacedContainer& container : *placement) {
      if (container.parts.size() != size) continue;
      Cards own;
      for (const Fraction& part : container.parts) own.push_back(part.device);
      std::ranges::sort(own);
      if (agreed && *agreed != own) return std::nullopt;
      agreed = std::move(own);
    }
  }
  return agreed;
}

// Takes the first share of each card off the list. Empty if a card has none left.
std::vector<std::string> OneOfEach(Cards capacities, std::span<const std::string> from) {
  std::vector<std::string> shares;
  for (const std::string& share : from) {
    const auto card = std::ranges::find(capacities, DeviceOfShare(share));
    if (card == capacities.end()) continue;
    capacities.erase(card);
    shares.push_back(share);
  }
  return capacities.empty() ? shares : std::vector<std::string>();
}

}  // namespace

std::vector<std::string> ChosenShares(std::span<const PodPtr> waiting, const Offer& offer,
                                      const FractionRules& fractions,
                                      const Preference& preference) {
  if (preference.size <= 0) return {};
  const auto capacities =
      AgreedCards(waiting, offer, fractions, static_cast<size_t>(preference.size));
  if (!capacities) return {};
  std::vector<std::string> ordered(preference.must_include.begin(), preference.must_include.end());
  std::vector<std::string> rest(preference.available.begin(), preference.available.end());
  std::erase_if(rest, [&](const std::string& id) { return std::ranges::count(ordered, id) > 0; });
  std::ranges::sort(rest);
  ordered.insert(ordered.end(), rest.begin(), rest.end());
  std::vector<std::string> shares = OneOfEach(*capacities, ordered);
  // kubelet requires all of must_include in the answer.
  const bool all = std::ranges::all_of(preference.must_include, [&](const std::string& id) {
    return std::ranges::count(shares, id) > 0;
  });
  return all ? shares : std::vector<std::string>();
}

}  // namespace tessera
