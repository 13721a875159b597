// SPDX-License-Identifier: Apache-2.0
// Decides what a container gets by its late grant (grant/fraction.h): what Allocate promised, or
// what its pod asks for and its scheduler chose, as far as other holders leave room. A batch begins
// with what is held, recorded and known of pods; each decision in it counts for the next. No I/O.
// Owned by GrantBinder. One thread at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "binding/binding_store.h"
#include "binding/held_grants.h"
#include "binding/pod_cache.h"
#include "grant/cdi_document.h"
#include "grant/fraction.h"
#include "grant/grant.h"
#include "placement/capacity.h"
#include "placement/placement.h"
#include "placement/units.h"

namespace tessera {

// The terms by which a resource's grants are bound at one moment.
struct Binding {
  const Offer& offer;
  const Rendering& rendering;
  std::string cdi_dir;  // as the agent sees it
  // As for CdiDocument. Null until a scan of this process has found the devices. No document is
  // written then: it would lack the driver, and the pod's own variables could name any GPU.
  const cdi::Parts* described = nullptr;
};

class Placer {
 public:
  using Pods = std::map<std::string, PodPtr>;  // by the UID that kubelet knows

  // The record of each held grant; null: it was never bound; an error: unknown.
  using Records = std::map<std::string, Result<BindingRecordPtr>>;

  // Begins a batch, with what containers hold, and the pods that they and their records name; null:
  // unknown.
  void StartBatch(HeldGrantsPtr held, Records records, Pods pods);
  struct Decision {
    BindingRecordPtr record;
    bool is_new = false;  // the record must be written
  };
  // Decides one grant. kGrantUnknown, kNotPlaced, kBadDecision, kBadSize, kNoRoom and kNotEnforced
  // as GrantBinder::Bind.
  Result<Decision> Decide(const Binding& binding, const HeldGrant& held, const Pods& pods);
  // Ends the batch. Keeps only results that save work in the next one.
  void EndBatch();

 private:
  using OfPod = std::pair<std::string, std::string>;  // by UID and resource
  // What a grant's pod takes, as last computed from this record and this state of the pod.
  struct Usage {
    BindingRecordPtr record;
    PodPtr pod;
    UsageByDevice usage;
  };

  Result<BindingRecordPtr> Find(const std::string& grant) const;
  PodPtr PodOf(const std::string& uid) const;
  Status CheckAlone(const HeldGrant& mine) const;
  Result<Decision> StartedAgain(const Binding& binding, const HeldGrant& held,
                                BindingRecordPtr record);
  Result<BindingRecordPtr> WithFreeUnits(const Binding& binding, const HeldGrant& held,
                                         const BindingRecordPtr& record);
  Result<BindingRecord> RecordOfShares(const Binding& binding, const HeldGrant& held);
  Result<BindingRecord> RecordOfRequest(const Binding& binding, const HeldGrant& held,
                                        const Pods& pods);
  static Result<std::vector<Fraction>> PartsOf(const Binding& binding, const HeldGrant& held);
  struct ChosenPlacement {
    PodPlacement placement;
    bool fitted = false;  // as BindingRecord has it
  };
  Result<ChosenPlacement> PlacementFor(const Binding& binding, const kube::Pod& pod);
  Result<bool> IsToBeFitted(const Binding& binding, const kube::Pod& pod);
  // The record of the pod's first bound container with such GPUs; null: none is bound.
  Result<BindingRecordPtr> FormerRecord(const std::string& pod_uid, const std::string& resource);
  PodPtr StateOf(const std::string& uid);

  bool IsOver(const std::string& pod_uid, const std::string& container);
  bool MayBeOn(const Binding& binding, const HeldGrant& foreign, const std::string& device);
  Result<UnitSet> TakenUnits(const Binding& binding, const HeldGrant& mine,
                             const PlacedContainer& own, const std::string& device);
  Status ChooseUnits(const Binding& binding, const HeldGrant& mine, const PlacedContainer& own,
                     std::vector<Fraction>& parts);
  Status CheckCapacity(const Binding& binding, const HeldGrant& mine, const UsageByDevice& more,
                       bool counted);
  const UsedCapacity& UsedNow(const Binding& binding);
  void Count(const HeldGrant& held, const BindingRecordPtr& record);
  void CountForeign(const Binding& binding, const HeldGrant& held);
  void CountUnknown(const Binding& binding, const HeldGrant& held, const Error& why);
  const UsageByDevice& UsageOfPod(const std::string& grant, const BindingRecordPtr& record);

  Pods outdated_;  // states of pods that are wrong: an ended container is made again
  std::map<std::string, Usage> usages_;  // by grant
  // The state of the batch.
  HeldGrantsPtr held_;
  Records records_;
  Pods pods_;
  std::map<std::string, BindingRecordPtr> decided_;  // by grant
  std::optional<UsedCapacity> used_capacity_;        // computed when first needed
  const Offer* of_ = nullptr;                        // the offer that used_capacity_ is for
};

}  // namespace tessera
