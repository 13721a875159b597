// SPDX-License-Identifier: Apache-2.0
// Relations between devices by their traits: devices that exclude each other, and devices that go
// together.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/text.h"
#include "device/compose.h"
#include "node/node.h"

namespace tessera {

void Node::IndexRelations() {
  rivals_.clear();
  composed_.clear();
  part_names_.clear();
  bundles_.clear();
  by_hardware_.clear();
  Claims claims;
  std::map<std::string_view, size_t> takers;
  for (size_t i = 0; i < inventory_->devices.size(); ++i) {
    const Device& device = inventory_->devices[i];
    if (!hardware_sources_.empty()) {
      by_hardware_.emplace(device.key.id, i);
      if (!device.parent.empty()) by_hardware_.emplace(device.parent, i);
    }
    if (device.traits.empty()) continue;
    const DeviceTraits& traits = *device.traits;
    if (!traits.pci_path.empty()) claims[std::string(FileName(traits.pci_path))].push_back(i);
    if (!traits.parts.empty()) composed_.push_back(i);
    if (!traits.bundle.empty()) bundles_[{device.key.source, traits.bundle}].push_back(i);
    IndexRivals(i, takers);
  }
  for (const size_t i : composed_) IndexParts(i);
  for (const size_t i : composed_) IndexGone(i);
  SetClaims(std::move(claims));
  // Without rivals ExcludedDevices does not update the inbox's table, so it is cleared here.
  if (rivals_.empty()) ledger_.inbox()->SetExclusive({});
}

void Node::IndexRivals(size_t position, std::map<std::string_view, size_t>& takers) {
  for (const std::string& hardware : inventory_->devices[position].traits->takes) {
    const auto [taker, first] = takers.try_emplace(hardware, position);
    if (first || taker->second == position) continue;
    rivals_.insert(taker->second);
    rivals_.insert(position);
  }
}

// A part takes itself, once a device that is made of it takes it.
void Node::IndexParts(size_t whole) {
  const DeviceTraits& traits = *inventory_->devices[whole].traits;
  for (const DeviceKey& key : traits.parts) {
    const std::optional<size_t> part = PositionOf(key);
    std::string name = PartName(key);
    if (!part || std::ranges::count(traits.takes, name) == 0) continue;
    rivals_.insert(*part);
    rivals_.insert(whole);
    if (!part_names_.contains(*part)) part_names_.emplace(*part, std::move(name));
  }
}

// A device that is gone may have shared a part which another one takes for itself since then. Who
// still has it has the part.
void Node::IndexGone(size_t whole) {
  const Device& device = inventory_->devices[whole];
  if (device.present) return;
  for (const DeviceKey& key : device.traits->parts) {
    const std::optional<size_t> part = PositionOf(key);
    std::string name = PartName(key);
    if (!part || !part_names_.contains(*part) ||
        std::ranges::count(device.traits->takes, name) > 0) {
      continue;
    }
    rivals_.insert(whole);
    part_names_.emplace(whole, std::move(name));
  }
}

std::vector<std::string> Node::TakesOf(size_t position) const {
  std::vector<std::string> takes = inventory_->devices[position].traits->takes;
  const auto [begin, end] = part_names_.equal_range(position);
  for (auto name = begin; name != end; ++name) takes.push_back(name->second);
  return takes;
}

Node::KeptOut Node::ExcludedDevices() {
  if (rivals_.empty()) return {};
  std::vector<Exclusive> devices;
  for (const size_t i : rivals_) {
    const Device& device = inventory_->devices[i];
    devices.push_back({device.key, TakesOf(i), ledger_.IsHeld(device.key)});
  }
  ledger_.inbox()->SetExclusive(devices);
  // Grants race with this function. The ledger has the grants until now; later ones meet the
  // inbox's new table.
  for (Exclusive& each : devices) each.held = each.held || ledger_.IsHeld(each.device);
  std::multimap<std::string_view, const DeviceKey*> held;
  for (const Exclusive& each : devices) {
    if (!each.held) continue;
    for (const std::string& hardware : each.hardware) held.emplace(hardware, &each.device);
  }
  KeptOut out;
  for (const Exclusive& each : devices) {
    for (const std::string& hardware : each.hardware) {
      const auto [begin, end] = held.equal_range(hardware);
      const auto by = std::find_if(
          begin, end, [&](const auto& holder) { return *holder.second != each.device; });
      if (by == end) continue;
      out.try_emplace(each.device,
                      Error{Reason::kExcluded, "it takes " + hardware + ", as does " +
                                                   by->second->Text() + ", which may be in use"});
    }
  }
  return out;
}

std::vector<Changes> Node::LookAtRivals() {
  if (rivals_.empty() && contested_.empty() && composed_.empty() && kept_out_.empty()) return {};
  const KeptOut before = std::exchange(kept_out_, ExcludedDevices());
  AddDisowned(kept_out_);
  AddBroken(kept_out_);
  std::map<std::string, Urgency> sources;
  const auto note = [&](const KeptOut& those, const KeptOut& others, Urgency urgency) {
    for (const auto& [key, why] : those) {
      const auto other = others.find(key);
      if (other != others.end() && other->second == why) continue;
      Urgency& most = sources.try_emplace(key.source, urgency).first->second;
      most = std::max(most, urgency);
    }
  };
  note(before, kept_out_, Urgency::kCanWait);
  note(kept_out_, before, Urgency::kAtOnce);
  std::vector<Changes> changes;
  for (const auto& [source, urgency] : sources) changes.push_back({source, {}, urgency});
  std::ranges::stable_sort(changes, std::greater<>(), &Changes::urgency);
  return changes;
}

// A part that somebody has as itself is found by the hardware that it shares with the whole.
std::optional<Error> Node::BrokenBy(const DeviceKey& key, const KeptOut& out) const {
  const Device* part = inventory_->Find(key);
  if (part == nullptr) return Error{Reason::kVanished, "it is not there"};
  if (std::optional<Error> absent = AbsenceOf(*part)) return absent;
  if (std::optional<Error> held = HeldElsewhere(*part)) return held;
  const auto disowned = out.find(key);
  if (disowned != out.end() && disowned->second.reason == Reason::kClaimed) return disowned->second;
  return SicknessOf(*part);
}

void Node::AddBroken(KeptOut& out) const {
  for (const size_t i : composed_) {
    const Device& whole = inventory_->devices[i];
    for (const DeviceKey& key : whole.traits->parts) {
      const std::optional<Error> why = BrokenBy(key, out);
      if (!why) continue;
      out.try_emplace(whole.key,
                      Error{why->reason, "its part " + key.Text() + " is out: " + why->message});
    }
  }
}

bool Node::MayBeInUse(const DeviceKey& key) const {
  return ledger_.MayBeInUse(key) || std::ranges::any_of(composed_, [&](size_t i) {
           const Device& whole = inventory_->devices[i];
           return std::ranges::count(whole.traits->parts, key) > 0 && ledger_.MayBeInUse(whole.key);
         });
}

const Error* Node::KeptOutBy(const Device& device) const {
  if (kept_out_.empty()) return nullptr;
  const auto out = kept_out_.find(device.key);
  return out == kept_out_.end() ? nullptr : &out->second;
}

std::optional<Error> Node::TroubleOfPartners(const Device& device) const {
  const auto bundle = bundles_.find({device.key.source, device.traits->bundle});
  if (bundle == bundles_.end()) return std::nullopt;
  for (const size_t i : bundle->second) {
    const Device& partner = inventory_->devices[i];
    if (partner.key == device.key) continue;
    if (const std::optional<Error> why = OwnTroubleOf(partner)) {
      return Error{why->reason,
                   "it goes together with " + partner.key.id + ", which is out: " + why->message};
    }
  }
  return std::nullopt;
}

std::optional<Error> Node::TroubleOf(const Device& device) const {
  std::optional<Error> own = OwnTroubleOf(device);
  if (own || device.traits.empty() || device.traits->bundle.empty()) return own;
  return TroubleOfPartners(device);
}

}  // namespace tessera
