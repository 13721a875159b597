// SPDX-License-Identifier: Apache-2.0
// Hardware that several sources may find: the same device, or a part or the whole of it. Only one
// source offers it at a time. Its verdict and its cordon move with it to the next source.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "node/node.h"

namespace tessera {
namespace {

bool IsSameHardware(const Device& a, const Device& b) {
  return a.key.id == b.key.id || a.key.id == b.parent || a.parent == b.key.id;
}

// Whether the device is a former one of its source by another id, as after a change of the
// configuration: from an address to an id of the hardware, or back. Two ids of hardware at one
// address are two devices. Parts keep what follows the id of their whole.
bool IsRenamed(const Device& former, const Device& device) {
  const auto is_by_address = [](const Device& one) {
    return one.address == (one.parent.empty() ? one.key.id : one.parent);
  };
  if (is_by_address(former) == is_by_address(device)) return false;
  if (former.key.source != device.key.source || former.address.empty() ||
      former.address != device.address || former.parent.empty() != device.parent.empty()) {
    return false;
  }
  const auto rest = [](const Device& part) {
    return std::string_view(part.key.id)
        .substr(part.key.id.starts_with(part.parent) ? part.parent.size() : 0);
  };
  return former.parent.empty() || (former.parent != device.parent && rest(former) == rest(device));
}

// Only the id is known of a departed device.
bool IsOf(const DeviceKey& departed, const Device& device) {
  return departed.source != device.key.source &&
         (departed.id == device.key.id || departed.id == device.parent);
}

}  // namespace

bool OutlastsChecks(const Verdict& verdict, Steady now) {
  return verdict.remedy != Remedy::kNone || verdict.held_until > now;
}

void Node::Configure(const std::string& source, bool ids_of_hardware, const std::string& kind) {
  bool news = retired_.erase(source) > 0;
  if (!kind.empty()) news |= std::exchange(kinds_[source], kind) != kind;
  if (ids_of_hardware) news |= hardware_sources_.insert(source).second;
  if (news) IndexRelations();
}

// A retired source may be from an earlier process, so its kind is unknown. Ids that are not of
// hardware cannot match another source's hardware.
bool Node::MayShareHardware(const std::string& source) const {
  return hardware_sources_.contains(source) || retired_.contains(source);
}

std::vector<size_t> Node::SameHardware(const Device& device) const {
  std::vector<size_t> positions;
  if (!hardware_sources_.contains(device.key.source)) return positions;
  const auto add = [&](const std::string& id) {
    const auto [begin, end] = by_hardware_.equal_range(id);
    for (auto at = begin; at != end; ++at) {
      const Device& other = inventory_->devices[at->second];
      if (other.key.source != device.key.source && IsSameHardware(device, other) &&
          MayShareHardware(other.key.source)) {
        positions.push_back(at->second);
      }
    }
  };
  add(device.key.id);
  if (!device.parent.empty()) add(device.parent);
  std::ranges::sort(positions);
  const auto twice = std::ranges::unique(positions);
  positions.erase(twice.begin(), twice.end());
  return positions;
}

std::optional<Error> Node::HeldElsewhere(const Device& device) const {
  for (const size_t i : SameHardware(device)) {
    const Device& other = inventory_->devices[i];
    if (MayBeInUse(other.key)) {
      return Error{Reason::kHeldElsewhere, "it may still be in use as " + other.key.Text()};
    }
    const auto retired = retired_.find(other.key.source);
    if (retired == retired_.end() ? other.present : retired->second) {
      return Error{Reason::kHeldElsewhere, "it may still be granted as " + other.key.Text()};
    }
  }
  return std::nullopt;
}

std::vector<Changes> Node::SharersOf(const std::string& source) const {
  std::vector<Changes> changes;
  if (!MayShareHardware(source)) return changes;
  for (const std::string& other : hardware_sources_) {
    if (other != source) changes.push_back({other});
  }
  return changes;
}

void Node::Retire(const std::string& source) {
  const Merged gone = Merge(inventory_, source, {}, [](const DeviceKey&) { return true; });
  retired_[source] = true;
  hardware_sources_.erase(source);
  obstacles_.erase(source);
  if (gone.inventory != inventory_) Replace(gone.inventory);
}

std::vector<Changes> Node::EndRetired(const std::string& source) {
  const Merged rest =
      Merge(inventory_, source, {}, [this](const DeviceKey& key) { return MayBeInUse(key); });
  const bool news = std::exchange(retired_[source], false) || !rest.removed.empty();
  if (rest.inventory != inventory_) Replace(rest.inventory);
  std::vector<Changes> changes;
  if (news) changes = SharersOf(source);
  std::ranges::move(LookAtRivals(), std::back_inserter(changes));
  const DeviceList& devices = inventory_->devices;
  const bool left = std::any_of(devices.begin(), devices.end(),
                                [&](const Device& device) { return device.key.source == source; });
  if (!left) retired_.erase(source);
  return changes;
}

std::set<std::string> Node::retired() const {
  std::set<std::string> names;
  for (const auto& [name, may_be_granted] : retired_) names.insert(name);
  return names;
}

// Keeps the verdict for the next source that finds the hardware, unless a source already has it.
void Node::Depart(const Device& device, const Verdict& verdict) {
  if (!MayShareHardware(device.key.source) || !OutlastsChecks(verdict, clock_.Now())) return;
  const DeviceList& devices = inventory_->devices;
  const bool elsewhere = std::any_of(devices.begin(), devices.end(), [&](const Device& other) {
    return other.key.source != device.key.source && IsSameHardware(device, other);
  });
  if (!elsewhere) departed_[device.key] = verdict;
}

// Gives a newly found device the newest verdict about its hardware, if checks could not find the
// same fault themselves.
void Node::TakeOver(size_t position) {
  const Device& device = inventory_->devices[position];
  if (!hardware_sources_.contains(device.key.source)) return;
  const Steady now = clock_.Now();
  Verdict& own = health_[position].verdict;
  const Verdict* newest = nullptr;
  const auto consider = [&](const Verdict& verdict) {
    if (verdict.since > (newest == nullptr ? own : *newest).since) newest = &verdict;
  };
  for (const size_t i : SameHardware(device)) consider(health_[i].verdict);
  for (const Verdicts* gone : {&departed_, &awaited_}) {
    for (const auto& [key, verdict] : *gone) {
      if (IsOf(key, device)) consider(verdict);
    }
  }
  if (newest == nullptr) return;
  if (OutlastsChecks(*newest, now)) {
    health_[position] = {Verdict(*newest), now};
    fall_unsaved_ = true;
  } else if (OutlastsChecks(own, now)) {
    health_[position] = {};
  } else {
    return;
  }
  unsaved_.insert(device.key);
}

void Node::Rename(std::span<const size_t> gone, std::span<const size_t> came) {
  std::set<DeviceKey, DeviceKeyLess> moved;  // cordons, by their former devices
  for (const size_t from : gone) {
    const Device& former = inventory_->devices[from];
    if (!hardware_sources_.contains(former.key.source)) continue;
    for (const size_t to : came) {
      const Device& device = inventory_->devices[to];
      if (!IsRenamed(former, device)) continue;
      if (OutlastsChecks(health_[from].verdict, clock_.Now())) {
        health_[to] = {Verdict(health_[from].verdict), clock_.Now()};
        unsaved_.insert(device.key);
        fall_unsaved_ = true;
      }
      for (const bool whole : {false, true}) {
        const auto at = cordons_.find({former.key.source, whole ? former.parent : former.key.id});
        if (at == cordons_.end()) continue;
        const tessera::Cordon cordon = at->second;
        cordons_.try_emplace({device.key.source, whole ? device.parent : device.key.id}, cordon);
        moved.insert(at->first);
      }
    }
  }
  for (const DeviceKey& key : moved) cordons_.erase(key);
}

void Node::ResetElsewhere(const Device& device) {
  if (!hardware_sources_.contains(device.key.source)) return;
  for (const size_t i : SameHardware(device)) {
    if (health_[i].verdict.remedy != Remedy::kReset) continue;
    health_[i].verdict.remedy = Remedy::kNone;
    unsaved_.insert(inventory_->devices[i].key);
  }
  for (Verdicts* gone : {&departed_, &awaited_}) {
    std::erase_if(*gone, [&](const auto& item) {
      return IsOf(item.first, device) && item.second.remedy == Remedy::kReset;
    });
  }
}

// A cordon applies to the hardware in every source, and to all its parts.
bool Node::Concerns(const DeviceKey& cordoned, const Device& device) const {
  if (cordoned == device.key) return true;
  return hardware_sources_.contains(device.key.source) &&
         (cordoned.id == device.key.id || cordoned.id == device.parent);
}

const tessera::Cordon* Node::CordonOf(const Device& device) const {
  const auto at = std::ranges::find_if(
      cordons_, [&](const auto& item) { return Concerns(item.first, device); });
  return at == cordons_.end() ? nullptr : &at->second;
}

std::vector<Changes> Node::CordonsChanged(std::set<std::string> sources, Urgency urgency) {
  ++facts_generation_;
  sources.insert(hardware_sources_.begin(), hardware_sources_.end());
  std::vector<Changes> changes;
  for (const std::string& source : sources) changes.push_back({source, {}, urgency});
  return changes;
}

}  // namespace tessera
