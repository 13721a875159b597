// SPDX-License-Identifier: Apache-2.0
// Relations between devices by their traits: devices that exclude each other, and devices that go
// together.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/text.h"
#include "node/node.h"

namespace tessera {

void Node::IndexRelations() {
  rivals_.clear();
  composed_.clear();
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

Node::KeptOut Node::ExcludedDevices() {
  if (rivals_.empty()) return {};
  std::vector<Exclusive> devices;
  for (const size_t i : rivals_) {
    const Device& device = inventory_->devices[i];
    devices.push_back({device.key, device.traits->takes, ledger_.IsHeld(device.key)});
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

// A held part is found by the hardware that it shares with the whole.
void Node::AddBroken(KeptOut& out) const {
  for (const size_t i : composed_) {
    const Device& whole = inventory_->devices[i];
    for (const DeviceKey& key : whole.traits->parts) {
      const Device* part = inventory_->Find(key);
      std::optional<Error> why = Error{Reason::kVanished, "it is not there"};
      if (part != nullptr) why = AbsenceOf(*part);
      if (part != nullptr && !why) why = SicknessOf(*part);
      if (!why) continue;
      out.try_emplace(whole.key,
                      Error{why->reason, "its part " + key.Text() + " is out: " + why->message});
    }
  }
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
