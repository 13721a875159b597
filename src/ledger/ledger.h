// SPDX-License-Identifier: Apache-2.0
// The ledger: which pod and container hold which shares. Known from Allocate at once (without a
// pod: kubelet does not name it), confirmed by kubelet's pod-resources API, and completed from
// kubelet's checkpoint, which alone knows plain init containers. Pure: the edges read, the ledger
// compares. One thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "device/device.h"

namespace tessera {

// One container's shares of one resource, as kubelet tells it.
struct Holding {
  std::string pod_namespace;  // empty when only the checkpoint knows it
  std::string pod;            // likewise
  std::string pod_uid;        // empty when only pod-resources knows it
  std::string container;
  std::string resource;
  std::vector<std::string> share_ids;  // natural order
  bool operator==(const Holding&) const = default;
};

// A grant that Allocate made and no list of kubelet's has confirmed yet.
struct PendingGrant {
  std::string resource;
  std::vector<std::string> share_ids;
  Steady since{};
};

// The devices that a container's grant was bound to, where those are not the ones that its shares
// are of.
struct BoundDevices {
  std::string pod_uid;
  std::string container;
  std::string resource;
  std::vector<std::string> devices;
  Steady since{};
};

// What a reconciliation changed, for the log and the counters.
struct LedgerChange {
  std::vector<Holding> appeared;  // newly confirmed
  std::vector<Holding> ended;
  std::vector<Holding> unexpected;  // those of `appeared` that no Allocate of this process gave:
                                    // drift; none in a resource's first list
  std::vector<PendingGrant> forgotten;  // pending for too long: the pod was refused after all
};

// Where grants are put down as they are made, on whatever thread, until the ledger takes them in.
// It may outlive the ledger.
class GrantInbox {
 public:
  // Allocate answered with these ids. Any thread; never waits for the ledger.
  void Put(std::string_view resource, std::vector<std::string> share_ids, Steady now);
  // A container's grant was bound. Likewise.
  void PutBound(BoundDevices bound);

  struct Contents {
    std::vector<PendingGrant> grants;
    std::vector<BoundDevices> bound;
  };
  Contents TakeAll();

 private:
  std::atomic<bool> filled_ = false;
  std::mutex mutex_;
  Contents contents_;  // under mutex_
};

class Ledger {
 public:
  // A pending grant that no list has confirmed for this long is forgotten.
  explicit Ledger(Duration pending_limit) : pending_limit_(pending_limit) {}

  // What is put in here counts as granted from the next question on. The same ids again only renew
  // the time.
  const std::shared_ptr<GrantInbox>& inbox() const { return inbox_; }
  // Empties the inbox; every question does so by itself, and somebody should now and then.
  void TakeIn() const;

  // kubelet's complete view of these resources: pod-resources and checkpoint, already joined. A
  // holding that lacks a name or UID it had before is the same holding and keeps what was known of
  // it.
  LedgerChange Reconcile(std::vector<Holding> holdings, const std::set<std::string>& resources,
                         Steady now);

  // What kubelet's checkpoint says before the first reconciliation. It may name what has ended, but
  // leaves out nothing that is held: it counts as held until then.
  void Presume(std::vector<Holding> holdings) { presumed_ = std::move(holdings); }

  // Whether a container may hold a share of this device: true for every device of a resource until
  // its first reconciliation. `source` is the resource's name.
  bool MayBeInUse(const DeviceKey& key) const;
  // The same of all devices of a resource together.
  bool AnyMayBeInUse(const std::string& source) const;
  // The shares of a resource that are held or granted, for all that is known; valid until the next
  // question.
  std::vector<std::string_view> HeldIds(const std::string& source) const;

  // What the container has: the devices that its grant was bound to, or else those of its shares.
  std::set<std::string> DevicesOf(const Holding& holding) const;
  // Whether these are others than kubelet has it by the shares.
  bool HasDrifted(const Holding& holding) const;

  // Ordered by namespace, pod, UID, container and resource.
  const std::vector<Holding>& holdings() const { return holdings_; }
  const std::vector<PendingGrant>& pending() const {
    TakeIn();
    return pending_;
  }
  // Whether a holder is known from kubelet's checkpoint alone: a plain init container, or a pod
  // that ended before pod-resources named it.
  bool AnyUnnamed() const;
  bool reconciled(const std::string& resource) const { return reconciled_.contains(resource); }

 private:
  void Settle(Steady now, LedgerChange& change);
  void Index();
  void NoteUse(const std::string& resource, std::span<const std::string> share_ids) const;

  void DropEnded(std::vector<Holding>& holdings);
  void DropUnbound(Steady now);

  using BoundKey = std::tuple<std::string, std::string, std::string>;  // UID, container, resource
  struct Bound {
    std::vector<std::string> devices;
    Steady since{};
    bool held = false;  // kubelet has named its container
  };

  const std::shared_ptr<GrantInbox> inbox_ = std::make_shared<GrantInbox>();
  Duration pending_limit_;
  // Pods that pod-resources named once and names no more: kubelet's checkpoint keeps their entries
  // until it is next written.
  std::set<std::string> ended_uids_;
  std::set<std::string> reconciled_;  // resources whose holdings kubelet has told
  std::vector<Holding> holdings_;
  std::vector<Holding> presumed_;  // of resources that are not reconciled
  // Completed from the inbox whenever somebody asks.
  mutable std::vector<PendingGrant> pending_;
  mutable std::map<BoundKey, Bound> bound_;
  mutable std::set<DeviceKey, DeviceKeyLess>
      in_use_;  // of which a holding or a pending grant has a share
};

// Joins pod-resources (names, app containers and sidecars) with the checkpoint (UIDs, init
// containers too): a checkpoint entry that names the same container, resource and ids adds its UID
// to the pod-resources one; one that matches none stands for itself. pod-resources lists a
// container's ids of one resource in several entries, one a NUMA node: they are put together first.
// When several checkpoint entries match one entry, which can only be while a pod ends and another
// takes its place, none is taken for it.
std::vector<Holding> Join(std::vector<Holding> pod_resources, std::vector<Holding> checkpoint);

}  // namespace tessera
