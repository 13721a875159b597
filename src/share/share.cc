// SPDX-License-Identifier: Apache-2.0
#include "share/share.h"

#include <fmt/core.h>

#include <algorithm>
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

void AddShares(const Policy& policy, uint32_t device, bool healthy, Offer& offer) {
  const std::string id = Escaped(offer.devices[device].key.id);
  if (policy.division == Division::kWhole) {
    offer.shares.push_back({id, device, healthy});
    return;
  }
  for (int n = 0; n < std::max(policy.replicas, 1); ++n) {
    offer.shares.push_back({fmt::format("{}{}{}", id, kSeparator, n), device, healthy});
  }
}

}  // namespace

std::string_view DivisionName(Division division) {
  return division == Division::kWhole ? "whole" : "replicas";
}

const Share* Offer::Find(const std::string& id) const {
  const auto it = index.find(id);
  return it == index.end() ? nullptr : &shares[it->second];
}

Offer Divide(std::string_view resource, const Policy& policy, const Inventory& inventory,
             std::string_view source, const Trouble& trouble) {
  Offer offer;
  offer.resource = resource;
  for (const Device& device : inventory.devices) {
    if (device.key.source != source) continue;
    const auto position = static_cast<uint32_t>(offer.devices.size());
    std::optional<Error> why = TroubleOf(device, trouble);
    offer.devices.push_back(device);
    AddShares(policy, position, !why, offer);
    if (why) offer.troubles.emplace(position, *std::move(why));
  }
  offer.index.reserve(offer.shares.size());
  for (const Share& share : offer.shares) {
    offer.index.emplace(share.id, static_cast<uint32_t>(offer.index.size()));
  }
  return offer;
}

std::string DeviceOfShare(std::string_view share_id) {
  return Unescaped(share_id.substr(0, share_id.rfind(kSeparator)));
}

}  // namespace tessera
