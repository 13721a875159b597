// SPDX-License-Identifier: Apache-2.0
// Decides what a container gets by its late grant (grant/fraction.h): what Allocate promised it, or
// what its pod asks for and its scheduler chose, as far as there is room beside what others hold.
// A batch has one state of all that: what was decided in it counts for what is decided after. No
// I/O: the batch begins with what is held, recorded and known of pods. Owned by GrantBinder; one
// thread at a time.
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

namespace tessera {

// By what a resource's grants are bound at a time.
struct Binding {
  const Offer& offer;
  const Rendering& rendering;
  std::string cdi_dir;  // as the agent sees it
  // As for CdiDocument. None as long as no scan of this process has found them: no document is
  // written then, for it would lack the driver, and let the pod's own variables name any GPU.
  const cdi::Parts* described = nullptr;
};

class Placer {
 public:
  using Pods = std::map<std::string, PodPtr>;  // by the UID that kubelet knows them by

  // What is recorded of each grant that is held; null: it was never bound; an error where that is
  // not known.
  using Records = std::map<std::string, Result<BindingRecordPtr>>;

  // A batch begins, with what containers hold by now, and the pods that they and their records
  // name; null: one is not known.
  void StartBatch(HeldGrantsPtr held, Records records, Pods pods);
  struct Decision {
    BindingRecordPtr record;
    bool is_new = false;  // and is to be written
  };
  // kGrantUnknown, kNotPlaced, kBadDecision, kBadSize, kNoRoom and kNotEnforced as
  // GrantBinder::Bind.
  Result<Decision> Decide(const Binding& binding, const HeldGrant& held, const Pods& pods);
  // Ends the batch: nothing is kept of it but what saves work the next time.
  void EndBatch();

 private:
  using OfPod = std::pair<std::string, std::string>;  // by its UID and the resource
  // What a grant's pod takes, as it was worked out last: of this record, while this was said of it.
  struct Usage {
    BindingRecordPtr record;
    PodPtr pod;
    UsageByDevice usage;
  };

  Result<BindingRecordPtr> Find(const std::string& grant) const;
  PodPtr PodOf(const std::string& uid) const;
  Status CheckAlone(const HeldGrant& mine) const;
  Result<BindingRecordPtr> StartedAgain(const Binding& binding, const HeldGrant& held,
                                        BindingRecordPtr record);
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
  // By what the first of the pod's containers with such GPUs was bound; null: none was.
  Result<BindingRecordPtr> FormerRecord(const std::string& pod_uid, const std::string& resource);
  PodPtr StateOf(const std::string& uid);

  Status CheckCapacity(const Binding& binding, const HeldGrant& mine, const UsageByDevice& more,
                       bool counted);
  const UsedCapacity& UsedNow(const Binding& binding);
  void Count(const HeldGrant& held, const BindingRecordPtr& record);
  void CountForeign(const Binding& binding, const HeldGrant& held);
  void CountUnknown(const Binding& binding, const HeldGrant& held, const Error& why);
  const UsageByDevice& UsageOfPod(const std::string& grant, const BindingRecordPtr& record);

  Pods outdated_;  // what was known when a container was made that had ended by that
  std::map<std::string, Usage> usages_;  // by grant
  // Of the batch.
  HeldGrantsPtr held_;
  Records records_;
  Pods pods_;
  std::map<std::string, BindingRecordPtr> decided_;  // by grant
  std::optional<UsedCapacity> used_capacity_;        // worked out once somebody needs it
  const Offer* of_ = nullptr;                        // for whom taken_ was
};

}  // namespace tessera
