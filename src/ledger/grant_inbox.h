// SPDX-License-Identifier: Apache-2.0
// Pending grants: made by Allocate, not yet confirmed by kubelet. A grant counts as soon as it is
// put in. There are never more grants than shares, however often the same shares are granted. Owned
// by the ledger and by the allocators, and may outlive the ledger. Any thread; no call blocks on
// I/O.
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

// A grant that Allocate made, and that no list of kubelet's has confirmed yet.
struct PendingGrant {
  std::string resource;
  std::vector<std::string> share_ids;  // natural order
  Steady since{};
  bool operator==(const PendingGrant&) const = default;
};

// The devices that a container's grant was bound to, if they are not the devices of its shares.
struct BoundDevices {
  std::string pod_uid;
  std::string container;
  std::string resource;
  std::vector<std::string> devices;
  Steady since{};
  bool operator==(const BoundDevices&) const = default;
};

// A device that takes hardware which other devices take too.
struct Exclusive {
  DeviceKey device;
  std::vector<std::string> hardware;  // DeviceTraits::takes
  bool held = false;                  // a container may have it, by the ledger
};

// The result of Put.
struct PutResult {
  std::optional<DeviceKey> rival{};  // the device that kept it out; none: it was added
  bool excludes = false;             // it excludes others, and the last table did not say so
  bool operator==(const PutResult&) const = default;
};

class GrantInbox {
 public:
  // Adds the grant that Allocate answers with. If one of its devices takes hardware of a device
  // that a container may have, by the table last set, the grant is not added. An earlier grant goes
  // once each of its shares was granted again: kubelet grants only ids that it knows to be free.
  PutResult Put(std::string_view resource, std::vector<std::string> share_ids, Steady now);
  // Sets the table of all devices that exclude each other.
  void SetExclusive(std::span<const Exclusive> devices);
  // Records the devices of a bound grant.
  void PutBound(BoundDevices bound);

  // kubelet lists these now and did not before. Removes the grants of exactly these shares. Returns
  // the holdings with a share that no grant names.
  std::vector<Holding> Confirm(std::span<const Holding> appeared);
  // Removes the grants made up to `then` and not since, and returns them.
  std::vector<PendingGrant> Forget(Steady then);
  // kubelet lists these and no others. Removes what was bound for containers that have ended, and
  // what was bound up to `then` for containers that never came.
  void KeepBound(std::span<const Holding> holdings, Steady then);

  std::vector<PendingGrant> pending() const;  // the oldest first
  std::vector<BoundDevices> bound() const;    // ordered by UID, container and resource
  std::vector<std::string> DevicesOf(const Holding& holding) const;  // bound to it; or empty
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
