// SPDX-License-Identifier: Apache-2.0
#include "fraction/placer.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/quote.h"
#include "binding/container_match.h"
#include "hami/pod_placement.h"
#include "matched/matched_grants.h"
#include "share/share.h"

namespace tessera {
namespace {

// The devices of a part are here, and well.
Status CheckDevices(const Offer& offer, std::span<const Fraction> parts) {
  for (const Fraction& part : parts) {
    const auto device = offer.PositionOf(part.device);
    if (!device) {
      return Fail(Reason::kVanished, "{}: device {} is not there", offer.resource, part.device);
    }
    TRY(CheckHealthy(offer, *device));
  }
  return {};
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
    if (same) return Decision{.record = TRY(StartedAgain(binding, held, record))};
    return Fail(Reason::kGrantUnknown,
                "grant {} is bound to container {} of pod {}, not to {} of {}", held.name,
                record->container, record->pod_uid, held.container, held.pod_uid);
  }
  // What Allocate promised holds, whatever the configuration says by now.
  const bool by_request = binding.rendering.fractions->requests.has_value() && held.by_request();
  const bool promised = held.asked || held.matched;
  if ((promised && !by_request) || (held.asked && !WritesCdi(binding.rendering))) {
    return Fail(Reason::kNotPlaced,
                "{}: container {} of pod {} was promised what its pod asks for, and by now the "
                "configuration makes {}: delete the pod",
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

// The limits of GPUs go by the container's own count of them, and each document begins at its
// first.
Status Placer::CheckAlone(const HeldGrant& mine) const {
  for (const HeldGrant* held : held_->OfPod(mine.pod_uid)) {
    const bool same = held->container == mine.container && held->resource != mine.resource;
    if (!same || held->name.empty()) continue;
    return NotAlone(mine.container, mine.pod_uid, mine.resource, held->resource);
  }
  return {};
}

// One that counts as ended, and whose room others may have, needs it anew: the init container of a
// pod whose sandbox is made again, a static pod.
Result<BindingRecordPtr> Placer::StartedAgain(const Binding& binding, const HeldGrant& held,
                                              BindingRecordPtr record) {
  const PodPtr pod = record->placement.empty() ? nullptr : PodOf(record->pod_uid);
  if (pod == nullptr || !HasEnded(*pod, record->container)) return record;
  TRY(CheckCapacity(binding, held, UsageOfPlacement(record->placement, nullptr), true));
  outdated_[record->pod_uid] = pod;
  used_capacity_.reset();
  return record;
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

// What Allocate said, whatever the configuration says by now; on devices that are well.
Result<std::vector<Fraction>> Placer::PartsOf(const Binding& binding, const HeldGrant& held) {
  if (!held.parts) return FractionsOf(binding.offer, *binding.rendering.fractions, held.ids);
  for (const std::string& id : held.ids) {
    const Share* share = binding.offer.shares.Find(id);
    if (share == nullptr) {
      return Fail(Reason::kUnknownShare, "{}: {} is none of the virtual GPUs of this node",
                  binding.offer.resource, id);
    }
    TRY(CheckHealthy(binding.offer, share->device));
  }
  return *held.parts;
}

// The pod counts as a whole from its first container on, so that nobody takes what the others of it
// were promised.
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
  // All of it, whatever is said to have ended: nothing of it has begun.
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

// What stands on a pod that was fitted is what it has of another resource.
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

// By a record that cannot be read it may be another than by what stands on the pod now.
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

// Null where what was last said of the pod is known to be wrong.
PodPtr Placer::StateOf(const std::string& uid) {
  PodPtr pod = PodOf(uid);
  const auto outdated = outdated_.find(uid);
  if (outdated == outdated_.end()) return pod;
  if (outdated->second == pod) return nullptr;
  outdated_.erase(outdated);
  return pod;
}

// Parts of equal sizes always fit. Where the configuration has changed under running pods, or says
// more than a device has, they may not. `counted`: the container's pod counts by a placement
// already, and is wanted anew.
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

// What all have of each device: as it was decided for their pods as a whole, or share by share.
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
    }  // else it is not bound yet: its turn to be checked comes
  }
  for (const auto& [held, why] : unknown) CountUnknown(binding, *held, why);
  for (const HeldGrant* held : foreign) CountForeign(binding, *held);
  return *used_capacity_;
}

// A placement is of the pod that its record names, whoever is said to hold it by now.
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

// Of a pod whose containers another plugin has served: by what the scheduler wrote. What is
// recorded of the pod goes before, which nobody can write anew.
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

// Of a container whose record cannot be read: what Allocate promised it, or else nobody knows how
// much, of the capacities that kubelet took its ids of and of those that were chosen for its pod.
void Placer::CountUnknown(const Binding& binding, const HeldGrant& held, const Error& why) {
  if (used_capacity_->HasPod(held.pod_uid, held.resource)) return;
  const FractionRules& fractions = *binding.rendering.fractions;
  const auto add = [&](const std::string& device) {
    used_capacity_->AddUnknown(device,
                               fmt::format("what container {} of pod {} has of it is not known: {}",
                                           held.container, held.pod_uid, why.message));
  };
  if (held.parts && held.matched && fractions.own_library) {
    // The limits file may have said other sizes, never another GPU.
    for (const Fraction& part : *held.parts) add(part.device);
    return;
  }
  if (held.parts) return used_capacity_->AddShares(held.pod_uid, held.ids, held.ids, *held.parts);
  for (const std::string& id : held.ids) add(DeviceOfShare(id));
  const bool of_another = !held.resource.empty() && held.resource != binding.offer.resource;
  if (of_another || (!held.asked && !fractions.requests)) return;
  const PodPtr pod = PodOf(held.pod_uid);
  if (pod != nullptr && !hami::IsPlaced(*pod)) return;  // it was fitted to its ids
  const auto chosen = pod != nullptr && fractions.requests
                          ? hami::ReadPlacement(*pod, *fractions.requests->vendor,
                                                RulesOf(held.resource, *fractions.requests),
                                                CapacitiesOf(binding.offer, fractions))
                          : Result<PodPlacement>(Fail(Reason::kNotPlaced, "nobody knows the pod"));
  if (!chosen) {
    for (const Device& device : binding.offer.devices) add(device.key.id);
    return;
  }
  for (const PlacedContainer& container : *chosen) {
    for (const Fraction& part : container.parts) add(part.device);
  }
}

}  // namespace tessera
