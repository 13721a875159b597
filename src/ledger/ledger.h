// SPDX-License-Identifier: Apache-2.0
// The ledger: which pod and container hold which shares. Known from Allocate at once (without a
// pod: kubelet does not name it), confirmed by kubelet's pod-resources API, and completed from
// kubelet's checkpoint, which alone knows plain init containers. Pure: the edges read, the ledger
// compares. One thread.
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

// What a reconciliation changed, for the log and the counters.
struct LedgerChange {
  std::vector<Holding> appeared;  // newly confirmed
  std::vector<Holding> ended;
  std::vector<Holding> unexpected;  // those of `appeared` that no Allocate of this process gave:
                                    // drift; none in a resource's first list
  std::vector<PendingGrant> forgotten;  // pending for too long: the pod was refused after all
};

class Ledger {
 public:
  // A pending grant that no list has confirmed for this long is forgotten.
  explicit Ledger(Duration pending_limit) : pending_limit_(pending_limit) {}

  // What is put in here counts as granted from the next question on.
  const std::shared_ptr<GrantInbox>& inbox() const { return inbox_; }

  // kubelet's complete view of these resources: pod-resources and checkpoint, already joined. A
  // holding that lacks a name or UID it had before is the same holding and keeps what was known of
  // it.
  LedgerChange Reconcile(std::vector<Holding> holdings, const std::set<std::string>& resources,
                         Steady now);

  // What kubelet's checkpoint says before the first reconciliation. It may name what has ended, but
  // leaves out nothing that is held: it counts as held until then.
  void Presume(std::vector<Holding> holdings);

  // Devices that are prepared for a grant, whether kubelet knows of it still or not, all there are:
  // they count as held until they are back.
  void SetPrepared(std::set<DeviceKey, DeviceKeyLess> devices) { prepared_ = std::move(devices); }
  const std::set<DeviceKey, DeviceKeyLess>& prepared() const { return prepared_; }

  // Whether a container may hold a share of this device: true for every device of a resource until
  // its first reconciliation. `source` is the resource's name.
  bool MayBeInUse(const DeviceKey& key) const;
  // The same, but that of a resource which is not reconciled only what is presumed counts as held,
  // where anything is.
  bool IsHeld(const DeviceKey& key) const;
  // Whether a container may hold any device of a resource.
  bool AnyMayBeInUse(const std::string& source) const;
  // The shares of a resource that are held or granted, for all that is known.
  std::vector<std::string> HeldIds(const std::string& source) const;

  // What the container has: the devices that its grant was bound to, or else those of its shares.
  std::set<std::string> DevicesOf(const Holding& holding) const;
  // Whether these are others than kubelet has it by the shares.
  bool HasDrifted(const Holding& holding) const;

  // Ordered by namespace, pod, UID, container and resource.
  const std::vector<Holding>& holdings() const { return holdings_; }
  std::vector<PendingGrant> pending() const { return inbox_->pending(); }
  // Whether a holder is known from kubelet's checkpoint alone: a plain init container, or a pod
  // that ended before pod-resources named it.
  bool AnyUnnamed() const;
  bool reconciled(const std::string& resource) const { return reconciled_.contains(resource); }

 private:
  using Devices = std::set<DeviceKey, DeviceKeyLess>;
  static Devices DevicesIn(const std::vector<Holding>& holdings);  // of which they have shares
  void Settle(Steady now, LedgerChange& change);
  void DropEnded(std::vector<Holding>& holdings);

  const std::shared_ptr<GrantInbox> inbox_ = std::make_shared<GrantInbox>();
  Duration pending_limit_;
  // Pods that pod-resources named once and names no more: kubelet's checkpoint keeps their entries
  // until it is next written.
  std::set<std::string> ended_uids_;
  std::set<std::string> reconciled_;  // resources whose holdings kubelet has told
  std::vector<Holding> holdings_;
  std::vector<Holding> presumed_;  // of resources that are not reconciled
  bool presumes_ = false;          // `presumed_` has all that is held
  Devices presumed_in_use_;
  Devices in_use_;
  Devices prepared_;
};

// Joins pod-resources (names, app containers and sidecars) with the checkpoint (UIDs, init
// containers too): a checkpoint entry that names the same container, resource and ids adds its UID
// to the pod-resources one; one that matches none stands for itself. pod-resources lists a
// container's ids of one resource in several entries, one a NUMA node: they are put together first.
// When several checkpoint entries match one entry, which can only be while a pod ends and another
// takes its place, none is taken for it.
std::vector<Holding> Join(std::vector<Holding> pod_resources, std::vector<Holding> checkpoint);

}  // namespace tessera
