// SPDX-License-Identifier: Apache-2.0
#include "share/share.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace tessera {
namespace {

constexpr std::string_view kSeparator = "::";
constexpr std::string_view kEscapedColon = "%3A";
constexpr std::string_view kEscapedPercent = "%25";

// A device's id as it stands in its shares' ids: without "::", and different for different ids.
std::string Escaped(std::string_view id) {
  if (id.find(kSeparator) == std::string_view::npos && id.find('%') == std::string_view::npos) {
    return std::string(id);
  }
  std::string escaped;
  for (size_t i = 0; i < id.size(); ++i) {
    if (id[i] == '%') {
      escaped += kEscapedPercent;
    } else if (id[i] == ':' && i > 0 && id[i - 1] == ':') {
      escaped += kEscapedColon;
    } else {
      escaped += id[i];
    }
  }
  return escaped;
}

std::string Unescaped(std::string_view text) {
  if (text.find('%') == std::string_view::npos) return std::string(text);
  std::string id;
  while (!text.empty()) {
    const bool colon = text.starts_with(kEscapedColon);
    const bool percent = text.starts_with(kEscapedPercent);
    id += colon ? ':' : percent ? '%' : text.front();
    text.remove_prefix(colon || percent ? kEscapedColon.size() : 1);
  }
  return id;
}

std::optional<Error> TroubleOf(const Device& device, const Trouble& trouble) {
  if (device.defect) return device.defect;
  if (!device.present) return Error{Reason::kVanished, "it vanished while it may be in use"};
  return trouble(device);
}

void AddShares(const Device& device, uint32_t position, const Policy& policy,
               std::vector<Share>& shares) {
  const std::string id = Escaped(device.key.id);
  if (policy.division == Division::kWhole) {
    shares.push_back({id, position, false});
    return;
  }
  for (int n = 0; n < std::max(policy.replicas, 1); ++n) {
    shares.push_back({fmt::format("{}{}{}", id, kSeparator, n), position, false});
  }
}

// Whether the same policy divides devices of the same names.
bool SameShares(const Offer& a, const Offer& b) {
  if (a.policy != b.policy || a.devices.size() != b.devices.size()) return false;
  for (size_t i = 0; i < a.devices.size(); ++i) {
    if (a.devices.Shared(i) == b.devices.Shared(i)) continue;
    if (a.devices[i].key.id != b.devices[i].key.id) return false;
  }
  return true;
}

size_t SlotsFor(size_t shares) {
  size_t slots = 2;
  while (slots < 2 * shares) slots *= 2;
  return slots;
}

constexpr uint32_t kFree = std::numeric_limits<uint32_t>::max();

}  // namespace

std::string_view DivisionName(Division division) {
  return division == Division::kWhole ? "whole" : "replicas";
}

ShareIndex::ShareIndex(const std::vector<Share>& shares) : slots_(SlotsFor(shares.size()), kFree) {
  for (uint32_t position = 0; position < shares.size(); ++position) {
    size_t slot = std::hash<std::string_view>()(shares[position].id);
    while (slots_[slot & (slots_.size() - 1)] != kFree) ++slot;
    slots_[slot & (slots_.size() - 1)] = position;
  }
}

std::optional<uint32_t> ShareIndex::Find(const std::vector<Share>& shares,
                                         std::string_view id) const {
  for (size_t slot = std::hash<std::string_view>()(id);; ++slot) {
    const uint32_t position = slots_[slot & (slots_.size() - 1)];
    if (position == kFree) return std::nullopt;
    if (shares[position].id == id) return position;
  }
}

std::optional<uint32_t> Offer::PositionOf(std::string_view id) const {
  return index == nullptr ? std::nullopt : index->Find(shares, id);
}

const Share* Offer::Find(std::string_view id) const {
  const auto position = PositionOf(id);
  return position ? &shares[*position] : nullptr;
}

size_t Offer::HealthyShares() const {
  return static_cast<size_t>(std::count_if(shares.begin(), shares.end(),
                                           [](const Share& share) { return share.healthy; }));
}

Offer Divide(std::string_view resource, const Policy& policy, const Inventory& inventory,
             std::string_view source, const Trouble& trouble, const Offer* former) {
  Offer offer;
  offer.resource = resource;
  offer.policy = policy;
  for (size_t i = 0; i < inventory.devices.size(); ++i) {
    const Device& device = inventory.devices[i];
    if (device.key.source != source) continue;
    const auto position = static_cast<uint32_t>(offer.devices.size());
    offer.devices.push_back(inventory.devices.Shared(i));
    std::optional<Error> why = TroubleOf(device, trouble);
    if (why) offer.troubles.emplace(position, *std::move(why));
  }
  if (former != nullptr && SameShares(*former, offer)) {
    offer.shares = former->shares;
    offer.index = former->index;
  } else {
    for (uint32_t position = 0; position < offer.devices.size(); ++position) {
      AddShares(offer.devices[position], position, policy, offer.shares);
    }
    offer.index = std::make_shared<ShareIndex>(offer.shares);
  }
  for (Share& share : offer.shares) {
    share.healthy = offer.troubles.empty() || !offer.troubles.contains(share.device);
  }
  return offer;
}

std::string DeviceOfShare(std::string_view share_id) {
  return Unescaped(share_id.substr(0, share_id.rfind(kSeparator)));
}

}  // namespace tessera
