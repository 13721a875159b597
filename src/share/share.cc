// SPDX-License-Identifier: Apache-2.0
#include "share/share.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <limits>
#include <utility>

namespace tessera {
namespace {

constexpr std::string_view kSeparator = "::";
constexpr std::string_view kEscapedColon = "%3A";
constexpr std::string_view kEscapedPercent = "%25";
constexpr std::string_view kEscapedDash = "%2D";
// The longest replica number after a dash: kubelet's list has room for fewer than 100,000 ids with
// a UUID.
constexpr size_t kMostDigits = 5;

bool IsHexDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// True if the text begins with a UUID: "8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42".
bool BeginsWithUuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() < kForm.size()) return false;
  return std::equal(kForm.begin(), kForm.end(), text.begin(),
                    [](char form, char c) { return form == '-' ? c == '-' : IsHexDigit(c); });
}

bool HasUuid(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(1)) {
    if (BeginsWithUuid(text)) return true;
  }
  return false;
}

// The position of the dash before a replica's number; npos: none.
size_t ReplicaDash(std::string_view id) {
  const size_t dash = id.rfind('-');
  if (dash == std::string_view::npos) return dash;
  const std::string_view digits = id.substr(dash + 1);
  const bool number = !digits.empty() && digits.size() <= kMostDigits &&
                      digits.find_first_not_of("0123456789") == std::string_view::npos;
  return number && HasUuid(id.substr(0, dash)) ? dash : std::string_view::npos;
}

// A device's id as its shares' ids contain it. The result has no "::" and does not end like a
// replica. Different ids give different results.
std::string Escaped(std::string_view id) {
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
  // Last, as digits of the other escapes may complete a UUID.
  const size_t dash = ReplicaDash(escaped);
  if (dash != std::string::npos) escaped.replace(dash, 1, kEscapedDash);
  return escaped;
}

std::string Unescaped(std::string_view text) {
  if (text.find('%') == std::string_view::npos) return std::string(text);
  std::string id;
  constexpr std::pair<std::string_view, char> kEscapes[] = {
      {kEscapedColon, ':'}, {kEscapedPercent, '%'}, {kEscapedDash, '-'}};
  while (!text.empty()) {
    const auto* escape =
        std::find_if(std::begin(kEscapes), std::end(kEscapes),
                     [&](const auto& each) { return text.starts_with(each.first); });
    const bool escaped = escape != std::end(kEscapes);
    id += escaped ? escape->second : text.front();
    text.remove_prefix(escaped ? escape->first.size() : 1);
  }
  return id;
}

std::optional<Error> TroubleOf(const Device& device, const Trouble& trouble) {
  if (device.defect) return device.defect;
  if (!device.present) return Error{Reason::kVanished, "it disappeared while it may be in use"};
  return trouble(device);
}

// The separator of this device's replicas.
std::string_view SeparatorOf(const Policy& policy, std::string_view escaped) {
  const bool dashed = policy.separator == Separator::kDash && HasUuid(escaped);
  return dashed ? "-" : kSeparator;
}

int ReplicasOf(const Policy& policy) {
  return std::max(policy.replicas, 1);
}

void AddShares(const Device& device, uint32_t position, const Plan& plan,
               std::vector<Share>& shares) {
  if (const auto kept = plan.kept.find(device.key.id); kept != plan.kept.end()) {
    for (const std::string& id : kept->second) shares.push_back({id, position});
    return;
  }
  const std::string id = Escaped(device.key.id);
  if (plan.policy.division == Division::kWhole) {
    shares.push_back({id, position});
    return;
  }
  // There may be thousands of ids at a start, and fmt::format takes four times as long for each.
  const std::string stem = fmt::format("{}{}", id, SeparatorOf(plan.policy, id));
  for (int n = 0; n < ReplicasOf(plan.policy); ++n) {
    std::array<char, 16> digits{};
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr;
    const std::string_view number(digits.data(), static_cast<size_t>(end - digits.data()));
    std::string share_id;
    share_id.reserve(stem.size() + number.size());
    share_id.append(stem).append(number);
    shares.push_back({std::move(share_id), position});
  }
}

// The end of the device's id in a share's id; npos: the share is a whole device.
size_t EndOfDevice(std::string_view share_id) {
  const size_t colons = share_id.rfind(kSeparator);
  return colons == std::string_view::npos ? ReplicaDash(share_id) : colons;
}

// True if the policy makes this share of its device. Runs for every held share at every change of
// health, so it copies no text.
bool Makes(const Policy& policy, std::string_view share_id) {
  const bool dashed = share_id.rfind(kSeparator) == std::string_view::npos;
  const size_t end = EndOfDevice(share_id);
  const bool is_replica = end != std::string_view::npos;
  if (policy.division == Division::kWhole || !is_replica) {
    return is_replica == (policy.division != Division::kWhole);
  }
  const std::string_view separator = SeparatorOf(policy, share_id.substr(0, end));
  if (separator != (dashed ? "-" : kSeparator)) return false;
  const std::string_view digits = share_id.substr(end + separator.size());
  const bool plain = digits.size() == 1 || !digits.starts_with('0');
  int n = -1;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  return plain && read.ptr == digits.data() + digits.size() && n >= 0 && n < ReplicasOf(policy);
}

// True if both offers have the same plan and the same device ids, hence the same shares.
bool SameShares(const Offer& a, const Offer& b) {
  if (a.plan != b.plan || a.devices.size() != b.devices.size()) return false;
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

std::string_view PartsName(Division division) {
  if (division == Division::kVgpu) return "vGPUs";
  return division == Division::kMps ? "by MPS" : "replicas";
}

}  // namespace

std::string_view DivisionName(Division division) {
  switch (division) {
    case Division::kWhole:
      return "whole";
    case Division::kReplicas:
      return "replicas";
    case Division::kMps:
      return "mps";
    case Division::kVgpu:
      return "vgpu";
  }
  return "";
}

std::string_view SeparatorName(Separator separator) {
  return separator == Separator::kColons ? "colons" : "dash";
}

std::string PolicyText(const Policy& policy) {
  if (policy.division == Division::kWhole) return std::string(DivisionName(policy.division));
  const bool usual = policy.separator == Policy().separator;
  return fmt::format("{} {}{}", policy.replicas, PartsName(policy.division),
                     usual ? "" : fmt::format(" ({})", SeparatorName(policy.separator)));
}

bool AnyWhole(const std::set<std::string, NaturalLess>& ids) {
  return std::ranges::any_of(ids, [](const std::string& id) { return !ReplicaOfShare(id); });
}

Plan PlanFor(const Policy& policy, std::span<const std::string_view> held,
             std::span<const std::string> kept) {
  Plan plan{policy};
  for (const std::string& device : kept) plan.kept.try_emplace(device);
  for (const std::string_view id : held) {
    if (!Makes(policy, id)) plan.kept.try_emplace(DeviceOfShare(id));
  }
  if (plan.kept.empty()) return plan;
  for (const std::string_view id : held) {
    const auto at = plan.kept.find(DeviceOfShare(id));
    if (at != plan.kept.end()) at->second.emplace(id);
  }
  return plan;
}

ShareList::ShareList(std::vector<Share> shares) {
  std::vector<uint32_t> slots(SlotsFor(shares.size()), kFree);
  for (uint32_t position = 0; position < shares.size(); ++position) {
    size_t slot = std::hash<std::string_view>()(shares[position].id);
    while (slots[slot & (slots.size() - 1)] != kFree) ++slot;
    slots[slot & (slots.size() - 1)] = position;
  }
  body_ = std::make_shared<Body>(Body{std::move(shares), std::move(slots)});
}

std::optional<uint32_t> ShareList::PositionOf(std::string_view id) const {
  const std::vector<uint32_t>& slots = body_->slots;
  for (size_t slot = std::hash<std::string_view>()(id);; ++slot) {
    const uint32_t position = slots[slot & (slots.size() - 1)];
    if (position == kFree) return std::nullopt;
    if (body_->shares[position].id == id) return position;
  }
}

const Share* ShareList::Find(std::string_view id) const {
  const auto position = PositionOf(id);
  return position ? &body_->shares[*position] : nullptr;
}

size_t Offer::HealthyShares() const {
  return static_cast<size_t>(std::count_if(
      shares.begin(), shares.end(), [this](const Share& share) { return IsHealthy(share); }));
}

std::optional<uint32_t> Offer::PositionOf(std::string_view device) const {
  for (uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i].key.id == device) return i;
  }
  return std::nullopt;
}

bool Offer::IsHeldWhole(uint32_t device) const {
  const auto kept = plan.kept.find(devices[device].key.id);
  return kept != plan.kept.end() && AnyWhole(kept->second);
}

size_t Offer::KeptDevices() const {
  size_t count = 0;
  for (uint32_t device = 0; device < devices.size(); ++device) count += IsKept(device) ? 1 : 0;
  return count;
}

Offer Divide(std::string_view resource, const Plan& plan, const Inventory& inventory,
             std::string_view source, const Trouble& trouble, const Offer* former) {
  Offer offer;
  offer.resource = resource;
  offer.plan = plan;
  for (size_t i = 0; i < inventory.devices.size(); ++i) {
    const Device& device = inventory.devices[i];
    if (device.key.source != source) continue;
    const auto position = static_cast<uint32_t>(offer.devices.size());
    offer.devices.push_back(inventory.devices.Shared(i));
    std::optional<Error> why = TroubleOf(device, trouble);
    if (why) offer.troubles.emplace(position, *std::move(why));
    offer.limited |= !device.traits.empty() && device.traits->shares.has_value();
  }
  if (former != nullptr && SameShares(*former, offer)) {
    offer.shares = former->shares;
  } else {
    std::vector<Share> shares;
    shares.reserve(offer.devices.size() * static_cast<size_t>(ReplicasOf(plan.policy)));
    for (uint32_t position = 0; position < offer.devices.size(); ++position) {
      AddShares(offer.devices[position], position, plan, shares);
    }
    offer.shares = ShareList(std::move(shares));
  }
  return offer;
}

std::optional<Offer> WithoutOthers(const Offer& offer, const Offer& next) {
  if (offer.shares.IsCopyOf(next.shares) && next.withheld.empty()) return std::nullopt;
  std::vector<Share> common;
  for (const Share& share : offer.shares) {
    const bool goes = next.IsWithheld(share) && !offer.IsWithheld(share);
    if (!goes && next.shares.Find(share.id) != nullptr) common.push_back(share);
  }
  if (common.size() == offer.shares.size()) return std::nullopt;
  Offer rest = offer;
  rest.shares = ShareList(std::move(common));
  return rest;
}

std::string DeviceOfShare(std::string_view share_id) {
  return Unescaped(share_id.substr(0, EndOfDevice(share_id)));
}

std::optional<int> ReplicaOfShare(std::string_view share_id) {
  const size_t end = EndOfDevice(share_id);
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view digits = share_id.substr(end);
  digits.remove_prefix(std::min(digits.find_first_not_of(":-"), digits.size()));
  int n = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  return read.ec == std::errc() && read.ptr == digits.data() + digits.size() ? std::optional(n)
                                                                             : std::nullopt;
}

}  // namespace tessera
