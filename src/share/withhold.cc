// SPDX-License-Identifier: Apache-2.0
#include "share/withhold.h"

#include <fmt/core.h>

#include <string_view>
#include <unordered_set>
#include <vector>

namespace tessera {

void Withhold(std::span<const std::string> held, Offer& offer) {
  const std::unordered_set<std::string_view> stay(held.begin(), held.end());
  std::vector<int> room;
  for (const Device& device : offer.devices) {
    room.push_back(device.traits->shares.value_or(kMostReplicas));
  }
  for (const Share& share : offer.shares) {
    if (stay.contains(share.id)) --room[share.device];
  }
  for (const Share& share : offer.shares) {
    if (!stay.contains(share.id) && --room[share.device] < 0) offer.withheld.insert(share.id);
  }
}

Status CheckRoom(const Offer& offer, const Share& share) {
  if (!offer.IsWithheld(share)) return {};
  const Device& device = offer.devices[share.device];
  return Fail(Reason::kUnhealthyShare,
              "{}: id {} is not offered now: device {} has room for {} shares", offer.resource,
              share.id, device.key.id, device.traits->shares.value_or(0));
}

}  // namespace tessera
