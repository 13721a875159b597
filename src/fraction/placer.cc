// SPDX-License-Identifier: Apache-2.0
#include "fraction/placer.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/quote.h"
#include "base/text.h"
#include "binding/container_match.h"
#include "hami/pod_placement.h"
#include "matched/matched_grants.h"
#include "share/share.h"

namespace tessera {
namespace {

// Checks that the fractions' devices exist, are healthy, and that nobody has them whole.
Status CheckDevices(const Offer& offer, std::span<const Fraction> parts) {
  for (const Fraction& part : parts) {
    const auto device = offer.PositionOf(part.device);
    if (!device) {
      return Fail(Reason::kVanished, "{}: device {} is not there", offer.resource, part.device);
    }
    TRY(CheckPart(offer, *device));
  }
  return {};
}

// Whether a pod's container may run while another one of the pod does. Of two that start one after
// the other, the first one runs on unless it is an init container.
bool MayRunWith(const PlacedContainer& own, const BindingRecord& other) {
  using Kind = kube::Container::Kind;
  if (own.name == other.container) return false;
  const auto mine = std::ranges::find(other.placement, own.name, &PlacedContainer::name);
  const auto its = std::ranges::find(other.placement, other.container, &PlacedContainer::name);
  if (mine == other.placement.end() || its == other.placement.end()) return true;
  const bool mine_is_later = mine->kind == Kind::kApp || (its->kind != Kind::kApp && its < mine);
  return (mine_is_later ? its : mine)->kind != Kind::kInit;
}

}  // namespace

void Placer::StartBatch(HeldGrantsPtr held, Records records, Pods pods) {
  held_ = std::move(held);
  records_ = std::move(records);
  pods_ = std::move(pods);
}

void Placer::EndBatch() {
  held_ = nullptr;
  records_.clear();
  pods_.clear();
  decided_.clear();
  used_capacity_.reset();
}

Result<Placer::Decision> Placer::Decide(const Binding& binding, const HeldGrant& held,
                                        const Pods& pods) {
  if (!IsGrantName(held.name)) {
    return Fail(Reason::kGrantUnknown, "{}: kubelet's checkpoint has a grant named {}",
                held.resource, Brief(held.name));
  }
  TRY(CheckAlone(held));
  TRY(CheckOwner(held));
  if (const BindingRecordPtr record = TRY(Find(held.name))) {
    const bool pod = record->pod_uid == held.pod_uid || IsPodName(record->pod_uid);
    const bool same =
        record->resource == held.resource && pod && record->container == held.container;
    if (same) return StartedAgain(binding, held, record);
    return Fail(Reason::kGrantUnknown,
                "grant {} is bound to container {} of pod {}, not to {} of {}", held.name,
                record->container, record->pod_uid, held.container, held.pod_uid);
  }
  // Allocate's promise holds, even if the configuration has changed since.
  const bool by_request = binding.rendering.fractions->requests.has_value() && held.by_request();
  const bool promised = held.asked || held.matched;
  if ((promised && !by_request) || (held.asked && !WritesCdi(binding.rendering))) {
    return Fail(Reason::kNotPlaced,
                "{}: container {} of pod {} was granted its pod's request, but the configuration "
                "now makes {}; delete the pod",
                held.resource, held.container, held.pod_uid,
                by_request ? "no CDI documents" : "equal parts");
  }
  const auto record = std::make_shared<const BindingRecord>(
      TRY(by_request ? RecordOfRequest(binding, held, pods) : RecordOfShares(binding, held)));
  decided_[held.name] = record;
  if (used_capacity_) Count(held, record);
  return Decision{.record = record, .is_new = true};
}

Result<BindingRecordPtr> Placer::Find(const std::string& grant) const {
  const auto decided = decided_.find(grant);
  if (decided != decided_.end()) return decided->second;
  const auto record = records_.find(grant);
  return record == records_.end() ? nullptr : record->second;
}

PodPtr Placer::PodOf(const std::string& uid) const {
  const auto pod = pods_.find(uid);
  return pod == pods_.end() ? nullptr : pod->second;
}

// A GPU's limits are numbered by the container's own order, and each document starts at the first.
// So a container can have only one such grant.
Status Placer::CheckAlone(const HeldGrant& mine) const {
  for (const HeldGrant* held : held_->OfPod(mine.pod_uid)) {
    const bool same = held->container == mine.container && held->resource != mine.resource;
    if (!same || held->name.empty()) continue;
    return NotAlone(mine.container, mine.pod_uid, mine.resource, held->resource);
  }
  return {};
}

// A container that counts as ended has lost its capacity to others, so it must get it again. This
// happens to init containers if the pod's sandbox is remade, and to static pods.
Result<Placer::Decision> Placer::StartedAgain(const Binding& binding, const HeldGrant& held,
                                              BindingRecordPtr record) {
  if (record->placement.empty()) return Decision{.record = record};
  const PodPtr pod = PodOf(record->pod_uid);
  if (pod == nullptr) {
    // Whether it has ended is not known yet.
    if (TRY(WithFreeUnits(binding, held, record)) == record) return Decision{.record = record};
    return Fail(Reason::kGrantUnknown,
                "{}: other containers may have the compute units of container {} of pod {}, which "
                "is not known yet: try again",
                held.resource, held.container, held.pod_uid);
  }
  if (!HasEnded(*pod, record->container)) return Decision{.record = record};
  TRY(CheckCapacity(binding, held, UsageOfPlacement(record->placement, nullptr), true));
  const BindingRecordPtr again = TRY(WithFreeUnits(binding, held, record));
  outdated_[record->pod_uid] = pod;
  used_capacity_.reset();
  if (again == record) return Decision{.record = record};
  decided_[held.name] = again;
  return Decision{.record = again, .is_new = true};
}

// The record itself, if no other container has its units now.
Result<BindingRecordPtr> Placer::WithFreeUnits(const Binding& binding, const HeldGrant& held,
                                               const BindingRecordPtr& record) {
  const auto own = std::ranges::find(record->placement, record->container, &PlacedContainer::name);
  if (!record->HasUnits() || own == record->placement.end()) return record;
  bool free = true;
  for (const Fraction& part : record->parts) {
    const UnitSet taken = TRY(TakenUnits(binding, held, *own, part.device));
    free = free && !UnitSet::Parse(part.units).value_or(UnitSet()).Overlaps(taken);
  }
  if (free) return record;
  BindingRecord again = *record;
  TRY(ChooseUnits(binding, held, *own, again.parts));
  return std::make_shared<const BindingRecord>(std::move(again));
}

Result<BindingRecord> Placer::RecordOfShares(const Binding& binding, const HeldGrant& held) {
  FractionGrant grant =
      NewFractionGrant(*binding.rendering.fractions, held.name, TRY(PartsOf(binding, held)));
  TRY(CheckCapacity(binding, held, UsageOf(grant.parts), false));
  return BindingRecord{.resource = held.resource,
                       .pod_uid = held.pod_uid,
                       .container = held.container,
                       .directory = std::move(grant.directory),
                       .parts = std::move(grant.parts),
                       .library = binding.rendering.fractions->library,
                       .ids = held.ids};
}

// The fractions that Allocate promised, even if the configuration has changed. Their devices must
// be healthy.
Result<std::vector<Fraction>> Placer::PartsOf(const Binding& binding, const HeldGrant& held) {
  if (!held.parts) return FractionsOf(binding.offer, *binding.rendering.fractions, held.ids);
  for (const std::string& id : held.ids) {
    const Share* share = binding.offer.shares.Find(id);
    if (share == nullptr) {
      return Fail(Reason::kUnknownShare, "{}: {} is not a virtual GPU of this node",
                  binding.offer.resource, id);
    }
    TRY(CheckHealthy(binding.offer, share->device));
  }
  return *held.parts;
}

// The first container reserves the capacity of its whole pod, so other pods cannot take its other
// containers' share.
Result<BindingRecord> Placer::RecordOfRequest(const Binding& binding, const HeldGrant& held,
                                              const Pods& pods) {
  const auto found = pods.find(held.pod_uid);
  if (found == pods.end() || found->second->KubeletUid() != held.pod_uid) {
    return Fail(Reason::kGrantUnknown, "{}: pod {} is not known", held.resource, held.pod_uid);
  }
  const kube::Pod& pod = *found->second;
  const BindingRecordPtr former = TRY(FormerRecord(held.pod_uid, held.resource));
  auto [placement, fitted] = former == nullptr ? TRY(PlacementFor(binding, pod))
                                               : ChosenPlacement{former->placement, former->fitted};
  // No container of the pod has started, so all of them count, even those that are reported as
  // ended.
  if (former == nullptr)
    TRY(CheckCapacity(binding, held, UsageOfPlacement(placement, nullptr), false));
  const auto own = std::ranges::find(placement, held.container, &PlacedContainer::name);
  if (own == placement.end()) {
    return Fail(Reason::kBadDecision, "pod {}/{}: nothing was chosen for container {}",
                pod.pod_namespace, pod.name, held.container);
  }
  TRY(CheckDevices(binding.offer, own->parts));
  const FractionRules& fractions = *binding.rendering.fractions;
  FractionMatch match = TRY(MatchOf(pod, *own, fractions));
  TRY(ChooseUnits(binding, held, *own, match.parts));
  BindingRecord record{.resource = held.resource,
                       .pod_uid = held.pod_uid,
                       .container = held.container,
                       .directory = std::move(match.directory),
                       .parts = std::move(match.parts),
                       .controlled = match.controlled,
                       .library = fractions.library,
                       .placement = std::move(placement),
                       .fitted = fitted,
                       .ids = held.ids};
  if (!held.matched) return record;
  TRY(CheckMatch(held.answer, binding.offer, fractions, record));
  record.gate = GateOf(fractions, held.name);
  return record;
}

Result<Placer::ChosenPlacement> Placer::PlacementFor(const Binding& binding, const kube::Pod& pod) {
  const FractionRules& fractions = *binding.rendering.fractions;
  const RequestRules rules = RulesOf(binding.offer.resource, *fractions.requests);
  const std::vector<DeviceCapacity> capacities = CapacitiesOf(binding.offer, fractions);
  if (!TRY(IsToBeFitted(binding, pod)))
    return ChosenPlacement{
        TRY(hami::ReadPlacement(pod, *fractions.requests->vendor, rules, capacities))};
  SharesByContainer shares;
  for (const HeldGrant* held : held_->OfPod(pod.KubeletUid())) {
    if (held->resource == binding.offer.resource) shares[held->container] = held->ids;
  }
  return ChosenPlacement{TRY(FitPlacement(pod, rules, capacities, shares)), true};
}

// A fitted pod's annotations may be those of another resource.
Result<bool> Placer::IsToBeFitted(const Binding& binding, const kube::Pod& pod) {
  if (!binding.rendering.fractions->requests->fit_unplaced) return false;
  if (!hami::IsPlaced(pod, *binding.rendering.fractions->requests->vendor)) return true;
  for (const HeldGrant* held : held_->OfPod(pod.KubeletUid())) {
    if (held->resource == binding.offer.resource) continue;
    const BindingRecordPtr record = TRY(FormerRecord(held->pod_uid, held->resource));
    if (record != nullptr && record->fitted) return true;
  }
  return false;
}

// An unreadable record may differ from the pod's current annotations, so it is an error.
Result<BindingRecordPtr> Placer::FormerRecord(const std::string& pod_uid,
                                              const std::string& resource) {
  for (const HeldGrant* held : held_->OfPod(pod_uid)) {
    if (held->resource != resource || !IsGrantName(held->name)) continue;
    const BindingRecordPtr record = TRY(Find(held->name));
    if (record != nullptr && !record->placement.empty() && record->pod_uid == pod_uid)
      return record;
  }
  return nullptr;
}

// Null if the pod's last known state is known to be wrong.
PodPtr Placer::StateOf(const std::string& uid) {
  PodPtr pod = PodOf(uid);
  const auto outdated = outdated_.find(uid);
  if (outdated == outdated_.end()) return pod;
  if (outdated->second == pod) return nullptr;
  outdated_.erase(outdated);
  return pod;
}

bool Placer::IsOver(const std::string& pod_uid, const std::string& container) {
  const PodPtr pod = StateOf(pod_uid);
  return pod != nullptr && HasEnded(*pod, container);
}

// Whether a container that another plugin started may have units of the device. Kubelet's ids name
// devices, and a scheduler may have chosen others.
bool Placer::MayBeOn(const Binding& binding, const HeldGrant& foreign, const std::string& device) {
  const DeviceList& devices = binding.offer.devices;
  bool others_named = !foreign.ids.empty();
  for (const std::string& id : foreign.ids) {
    // Ids of HAMi's plugin have '#' before the number of a share, those of ROCm's have none.
    const auto named = std::ranges::find(devices, id.substr(0, id.find('#')), &Device::address);
    if (named == devices.end() || named->key.id == device) return true;
    others_named = others_named && id == named->address;
  }
  const UsageByDevice* usage = UsedNow(binding).OfPod(foreign.pod_uid, foreign.resource);
  return usage == nullptr ? !others_named : usage->contains(device);
}

// The units of a device that containers have, which may run while this one does.
Result<UnitSet> Placer::TakenUnits(const Binding& binding, const HeldGrant& mine,
                                   const PlacedContainer& own, const std::string& device) {
  if (const std::string* why = UsedNow(binding).WhyUnknown(device)) {
    return Fail(Reason::kNoRoom, "{}: the free compute units of device {} are unknown: {}",
                mine.resource, device, *why);
  }
  UnitSet taken;
  for (const HeldGrant& held : held_->all()) {
    if (held.name == mine.name) continue;
    if (held.name.empty()) {
      if (held.resource != mine.resource || IsOver(held.pod_uid, held.container)) continue;
      if (!MayBeOn(binding, held, device)) continue;
      return Fail(Reason::kNoRoom,
                  "{}: another plugin started container {} of pod {}, whose compute units are "
                  "unknown: drain the node",
                  mine.resource, held.container, held.pod_uid);
    }
    if (!IsGrantName(held.name)) continue;
    const auto record = Find(held.name);
    if (!record) {
      // Without a record of its pod the whole device is unknown, as said above.
      const UsageByDevice* usage = UsedNow(binding).OfPod(held.pod_uid, held.resource);
      if (usage == nullptr || !usage->contains(device)) continue;
      if (IsOver(held.pod_uid, held.container)) continue;
      return Fail(Reason::kNoRoom,
                  "{}: the compute units of container {} of pod {} are unknown: {}", mine.resource,
                  held.container, held.pod_uid, record.error().message);
    }
    if (*record == nullptr) continue;  // decided later
    if ((*record)->pod_uid == mine.pod_uid && !MayRunWith(own, **record)) continue;
    if (IsOver((*record)->pod_uid, (*record)->container)) continue;
    for (const Fraction& part : (*record)->parts) {
      if (part.device != device) continue;
      if (part.units.empty()) taken.Add(0, UnitSet::kMost - 1);
      taken.Add(UnitSet::Parse(part.units).value_or(UnitSet()));
    }
  }
  return taken;
}

// Gives each part units of its own, if the resource's devices have any.
Status Placer::ChooseUnits(const Binding& binding, const HeldGrant& mine,
                           const PlacedContainer& own, std::vector<Fraction>& parts) {
  const FractionRules& fractions = *binding.rendering.fractions;
  if (fractions.core_capacity.empty()) return {};
  const std::vector<DeviceCapacity> capacities = CapacitiesOf(binding.offer, fractions);
  for (Fraction& part : parts) {
    const auto capacity = std::ranges::find(capacities, part.device, &DeviceCapacity::device);
    const int total = capacity == capacities.end() ? 0 : capacity->cores;
    const UnitSet taken = TRY(TakenUnits(binding, mine, own, part.device));
    const auto units = tessera::ChooseUnits(part.cores, total, taken);
    if (!units || part.cores <= 0) {
      return Fail(Reason::kNoRoom, "{}: {} of device {} are not free: containers have {} of {}",
                  mine.resource, tessera::Count(static_cast<size_t>(part.cores), "compute unit"),
                  part.device, taken.size(), total);
    }
    part.units = units->Text();
  }
  return {};
}

// Equal parts always fit, unless the configuration changed under running pods or exceeds a device.
// `counted`: the container's pod already counts by a placement, and is placed again.
Status Placer::CheckCapacity(const Binding& binding, const HeldGrant& mine,
                             const UsageByDevice& more, bool counted) {
  const FractionRules& fractions = *binding.rendering.fractions;
  const UsedCapacity& taken = UsedNow(binding);
  for (const auto& [device, wanted] : more) {
    const std::string* why = taken.WhyUnknown(device);
    if (why == nullptr) continue;
    return Fail(Reason::kNoRoom, "{}: device {} may have no room left: {}", binding.offer.resource,
                device, *why);
  }
  return tessera::CheckCapacity(binding.offer.resource, CapacitiesOf(binding.offer, fractions),
                                taken.Beside(mine.pod_uid, mine.ids, counted ? mine.resource : ""),
                                more, fractions.requests.has_value());
}

// The used capacity of each device: by placements of whole pods, or share by share.
const UsedCapacity& Placer::UsedNow(const Binding& binding) {
  if (used_capacity_ && of_ == &binding.offer) return *used_capacity_;
  used_capacity_.emplace();
  of_ = &binding.offer;
  std::map<std::string, Usage> former = std::exchange(usages_, {});
  std::vector<std::pair<const HeldGrant*, Error>> unknown;
  std::vector<const HeldGrant*> foreign;
  for (const HeldGrant& held : held_->all()) {
    if (held.name.empty()) {
      foreign.push_back(&held);
      continue;
    }
    if (!IsGrantName(held.name)) continue;
    const auto record = Find(held.name);
    if (!record) {
      unknown.emplace_back(&held, record.error());
    } else if (*record != nullptr) {
      if (auto known = former.extract(held.name)) usages_.insert(std::move(known));
      Count(held, *record);
    }  // otherwise it is not bound yet, and is checked later
  }
  for (const auto& [held, why] : unknown) CountUnknown(binding, *held, why);
  for (const HeldGrant* held : foreign) CountForeign(binding, *held);
  return *used_capacity_;
}

// A placement counts for the pod in its record, even if kubelet names another holder.
void Placer::Count(const HeldGrant& held, const BindingRecordPtr& record) {
  if (record->placement.empty()) {
    used_capacity_->AddShares(held.pod_uid, held.ids, record->ids.empty() ? held.ids : record->ids,
                              record->parts);
  } else if (!used_capacity_->HasPod(record->pod_uid, held.resource)) {
    used_capacity_->AddPod(record->pod_uid, held.resource, UsageOfPod(held.name, record));
  }
}

const UsageByDevice& Placer::UsageOfPod(const std::string& grant, const BindingRecordPtr& record) {
  const PodPtr pod = StateOf(record->pod_uid);
  Usage& known = usages_[grant];
  if (known.record == record && known.pod == pod) return known.usage;
  return (known = {record, pod, UsageOfPlacement(record->placement, pod.get())}).usage;
}

// Counts a pod whose containers another plugin served, by the scheduler's annotations. Our record
// of the pod takes precedence, because other parties cannot forge it.
void Placer::CountForeign(const Binding& binding, const HeldGrant& held) {
  const FractionRules& fractions = *binding.rendering.fractions;
  const bool ours = fractions.requests && held.resource == binding.offer.resource;
  if (!ours || used_capacity_->HasPod(held.pod_uid, held.resource)) return;
  const PodPtr pod = PodOf(held.pod_uid);
  if (pod == nullptr) return;
  const auto placement = hami::ReadPlacement(*pod, *fractions.requests->vendor,
                                             RulesOf(binding.offer.resource, *fractions.requests),
                                             CapacitiesOf(binding.offer, fractions));
  if (placement)
    used_capacity_->AddPod(held.pod_uid, held.resource, UsageOfPlacement(*placement, pod.get()));
}

// Counts a container with an unreadable record: by Allocate's promise, otherwise as an unknown
// amount. The unknown amount counts on the devices of its ids and on the devices that were chosen
// for its pod.
void Placer::CountUnknown(const Binding& binding, const HeldGrant& held, const Error& why) {
  if (used_capacity_->HasPod(held.pod_uid, held.resource)) return;
  const FractionRules& fractions = *binding.rendering.fractions;
  const auto add = [&](const std::string& device) {
    used_capacity_->AddUnknown(
        device, fmt::format("the share of container {} of pod {} on it is unknown: {}",
                            held.container, held.pod_uid, why.message));
  };
  if (held.parts && held.matched && fractions.own_library) {
    // The limits file may have had other sizes, but not another GPU.
    for (const Fraction& part : *held.parts) add(part.device);
    return;
  }
  if (held.parts) return used_capacity_->AddShares(held.pod_uid, held.ids, held.ids, *held.parts);
  for (const std::string& id : held.ids) add(DeviceOfShare(id));
  const bool of_another = !held.resource.empty() && held.resource != binding.offer.resource;
  if (of_another || (!held.asked && !fractions.requests)) return;
  const PodPtr pod = PodOf(held.pod_uid);
  if (pod != nullptr && !hami::IsPlaced(*pod)) return;  // its placement was fitted to its ids
  const auto chosen = pod != nullptr && fractions.requests
                          ? hami::ReadPlacement(*pod, *fractions.requests->vendor,
                                                RulesOf(held.resource, *fractions.requests),
                                                CapacitiesOf(binding.offer, fractions))
                          : Result<PodPlacement>(Fail(Reason::kNotPlaced, "the pod is unknown"));
  if (!chosen) {
    for (const Device& device : binding.offer.devices) add(device.key.id);
    return;
  }
  for (const PlacedContainer& container : *chosen) {
    for (const Fraction& part : container.parts) add(part.device);
  }
}

}  // namespace tessera
