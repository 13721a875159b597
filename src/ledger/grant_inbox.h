// SPDX-License-Identifier: Apache-2.0
// What was granted and kubelet has not told of yet. Grants are put down here as they are made; they
// count as made from the next question on, and wait until kubelet confirms them. However long that
// takes and however often the same shares are granted, there are at most as many grants as shares.
// It may outlive the ledger. Any thread; nobody waits but for another to look something up.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "device/device.h"
#include "ledger/holding.h"

namespace tessera {

// A grant that Allocate made and no list of kubelet's has confirmed yet.
struct PendingGrant {
  std::string resource;
  std::vector<std::string> share_ids;  // natural order
  Steady since{};
  bool operator==(const PendingGrant&) const = default;
};

// The devices that a container's grant was bound to, where those are not the ones that its shares
// are of.
struct BoundDevices {
  std::string pod_uid;
  std::string container;
  std::string resource;
  std::vector<std::string> devices;
  Steady since{};
  bool operator==(const BoundDevices&) const = default;
};

// A device that takes hardware which others take too.
struct Exclusive {
  DeviceKey device;
  std::vector<std::string> hardware;  // DeviceTraits::takes
  bool held = false;                  // a container may have it, for all that the ledger knows
};

// What came of a grant.
struct PutResult {
  std::optional<DeviceKey> rival{};  // which kept it out; nothing: it was put
  bool excludes = false;             // it keeps others out, which the last table did not know
  bool operator==(const PutResult&) const = default;
};

class GrantInbox {
 public:
  // Allocate answers with these ids, unless one of their devices takes hardware of another that a
  // container may have, by the table that was set last: then nothing is put. A former grant goes
  // once each of its shares was granted anew: kubelet grants what it knows to be free, and what the
  // newer ones name stays in use.
  PutResult Put(std::string_view resource, std::vector<std::string> share_ids, Steady now);
  // All such devices that the node has: the table of who keeps whom out.
  void SetExclusive(std::span<const Exclusive> devices);
  // A container's grant was bound.
  void PutBound(BoundDevices bound);

  // Kubelet lists these now and did not the last time: takes off the grants that they confirm, of
  // exactly the same shares. Returns those with a share that no grant names.
  std::vector<Holding> Confirm(std::span<const Holding> appeared);
  // Takes off the grants that were made by then and not since, and returns them.
  std::vector<PendingGrant> Forget(Steady then);
  // Kubelet lists these and no others: what was bound for containers that have ended goes, and what
  // was bound by `then` for those that never came.
  void KeepBound(std::span<const Holding> holdings, Steady then);

  std::vector<PendingGrant> pending() const;  // the oldest first
  std::vector<BoundDevices> bound() const;    // ordered by UID, container and resource
  std::vector<std::string> DevicesOf(const Holding& holding) const;  // that it was bound to, if any
  bool Uses(const DeviceKey& key) const;
  bool UsesAny(const std::string& source) const;

 private:
  struct Entry {
    PendingGrant grant;
    size_t newest;  // how many of its shares no later grant names
  };
  using Entries = std::list<Entry>;
  using TakesByDevice = std::map<DeviceKey, std::vector<std::string>, DeviceKeyLess>;
  using TakenBy = std::map<std::string, DeviceKey, std::less<>>;
  using BoundKey = std::tuple<std::string, std::string, std::string>;  // UID, container, resource
  struct Bound {
    std::vector<std::string> devices;
    Steady since{};
    bool held = false;  // kubelet has named its container
  };

  void PutLocked(PendingGrant grant) TESSERA_REQUIRES(mutex_);
  Entries::iterator Drop(Entries::iterator at) TESSERA_REQUIRES(mutex_);
  void Index() TESSERA_REQUIRES(mutex_);
  void NoteUse(const PendingGrant& grant) TESSERA_REQUIRES(mutex_);
  bool IsInUse(const DeviceKey& key) const TESSERA_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Entries entries_ TESSERA_GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, Entries::iterator> newest_
      TESSERA_GUARDED_BY(mutex_);  // by resource and share
  std::map<BoundKey, Bound> bound_ TESSERA_GUARDED_BY(mutex_);
  std::map<std::string, std::set<std::string>> in_use_
      TESSERA_GUARDED_BY(mutex_);  // by resource: devices that a grant names or was bound to
  TakesByDevice takes_ TESSERA_GUARDED_BY(mutex_);  // hardware that others take too
  TakenBy taken_ TESSERA_GUARDED_BY(mutex_);  // by hardware: a device that a container may have
};

}  // namespace tessera
