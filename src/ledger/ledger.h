// SPDX-License-Identifier: Apache-2.0
// The ledger: which container holds which shares. Allocate adds a pending grant, without a pod,
// because kubelet does not name it. kubelet's pod-resources API confirms it. kubelet's checkpoint
// adds plain init containers, which that API leaves out. Pure: callers read, the ledger compares.
// Owned by Node. One thread; its inbox is for any.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "device/device.h"
#include "ledger/grant_inbox.h"
#include "ledger/holding.h"

namespace tessera {

// What a reconciliation changed, for the log and the metrics.
struct LedgerChange {
  std::vector<Holding> appeared;  // newly confirmed
  std::vector<Holding> ended;
  std::vector<Holding> unexpected;  // those of `appeared` that no Allocate of this process made:
                                    // drift; none in a resource's first list
  std::vector<PendingGrant> forgotten;  // pending for too long: kubelet refused the pod
};

class Ledger {
 public:
  // A pending grant without confirmation for this long is forgotten.
  explicit Ledger(Duration pending_limit) : pending_limit_(pending_limit) {}

  // The pending grants. A grant counts as soon as it is put in.
  const std::shared_ptr<GrantInbox>& inbox() const { return inbox_; }

  // Takes kubelet's complete view of these resources: pod-resources and checkpoint, joined (Join).
  // A holding that has lost a name or UID is the same holding, and keeps it.
  LedgerChange Reconcile(std::vector<Holding> holdings, const std::set<std::string>& resources,
                         Steady now);
  // kubelet has started again. Until it has its pods from the API server, it names none, so a pod
  // has not ended that only its checkpoint names.
  void KubeletRestarted() { named_uids_.clear(); }

  // Takes kubelet's checkpoint before the first reconciliation. The checkpoint may name ended
  // containers, but leaves out none that runs, so what it names counts as held until then.
  void Presume(std::vector<Holding> holdings);

  // Sets all devices that are prepared for grants, whether or not kubelet still knows the grant.
  // They count as held until the preparation is undone.
  void SetPrepared(std::set<DeviceKey, DeviceKeyLess> devices) { prepared_ = std::move(devices); }
  const std::set<DeviceKey, DeviceKeyLess>& prepared() const { return prepared_; }

  // Whether a container may hold a share of this device. True for every device of a resource until
  // its first reconciliation. `source` is the resource's name.
  bool MayBeInUse(const DeviceKey& key) const;
  // As MayBeInUse. But before a resource's first reconciliation, and after Presume, only devices of
  // presumed holdings, pending grants and preparations count as held.
  bool IsHeld(const DeviceKey& key) const;
  // Whether a container may hold any device of a resource.
  bool AnyMayBeInUse(const std::string& source) const;
  // The shares of a resource that are held or granted, as far as it is known.
  std::vector<std::string> HeldIds(const std::string& source) const;

  // The devices that the container has: those that its grant was bound to, or else those of its
  // shares.
  std::set<std::string> DevicesOf(const Holding& holding) const;
  // Whether the container has other devices than those of its shares.
  bool HasDrifted(const Holding& holding) const;

  // Ordered by namespace, pod, UID, container and resource.
  const std::vector<Holding>& holdings() const { return holdings_; }
  std::vector<PendingGrant> pending() const { return inbox_->pending(); }
  // Whether only kubelet's checkpoint has a holder: a plain init container, or a pod that may have
  // ended.
  bool AnyUnlisted() const { return unlisted_; }
  // Whether a pod may have ended that kubelet named before it started.
  bool AnyMayHaveEnded() const { return may_have_ended_; }
  bool reconciled(const std::string& resource) const { return reconciled_.contains(resource); }

 private:
  using Devices = std::set<DeviceKey, DeviceKeyLess>;
  static Devices DevicesIn(const std::vector<Holding>& holdings);  // devices of their shares
  void Settle(Steady now, LedgerChange& change);
  void DropEnded(std::vector<Holding>& holdings);

  const std::shared_ptr<GrantInbox> inbox_ = std::make_shared<GrantInbox>();
  Duration pending_limit_;
  // Pods that pod-resources named last; none since kubelet started. One that it no longer names has
  // ended for good; kubelet's checkpoint keeps its entries until the next write.
  std::set<std::string> named_uids_;
  std::set<std::string> ended_uids_;
  bool unlisted_ = false;
  bool may_have_ended_ = false;
  std::set<std::string> reconciled_;  // resources with a first reconciliation
  std::vector<Holding> holdings_;
  std::vector<Holding> presumed_;  // of resources that are not reconciled yet
  bool presumes_ = false;          // Presume was called
  Devices presumed_in_use_;
  Devices in_use_;
  Devices prepared_;
};

// Joins pod-resources, which has names, with the checkpoint, which has UIDs and init containers.
// - A checkpoint entry with the same container, resource and ids adds its UID to that entry of
//   pod-resources. An entry without a match stands for itself.
// - pod-resources lists a container's ids of one resource in an entry for each NUMA node. These are
//   merged first.
// - If several checkpoint entries match one entry, none is taken. That happens only while one pod
//   ends and another takes its place.
std::vector<Holding> Join(std::vector<Holding> pod_resources, std::vector<Holding> checkpoint);

}  // namespace tessera
