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

// Checks that the fractions' devices exist and are healthy.
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
  // Allocate's promise holds, even if the configuration has changed since.
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

// The fractions that Allocate promised, even if the configuration has changed. Their devices must
// be healthy.
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
    used_capacity_->AddUnknown(device,
                               fmt::format("what container {} of pod {} has of it is not known: {}",
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
