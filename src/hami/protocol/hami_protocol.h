// SPDX-License-Identifier: Apache-2.0
// The node's side of HAMi's protocol, for pods with virtual GPUs. It releases the node lock
// (hami_lock.h). It sets a pod's bind-phase to "success" once all its containers have their
// devices, or to "failed" if no retry can succeed. It removes granted devices from
// Vendor::pod_to_allocate, and emits events for the pods' owners.
//
// Vendor::pod_allocated is never changed. It is written only for pods that no scheduler has placed.
// A pod is patched at most twice: when its first containers have their devices, and when all have.
//
// Each patch names the pod's UID and version. If the pod has changed since, it is read and the
// patch is computed again. While the API server is unreachable, this work waits, but no container
// waits for it.
//
// Owned by the owner of the client, which outlives it. One thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "binding/bind_events.h"
#include "hami/pod_devices.h"
#include "hami/protocol/hami_lock.h"
#include "hami/vendor.h"
#include "json/json.h"
#include "kube/client.h"
#include "kube/event.h"
#include "kube/metadata_patch.h"
#include "kube/objects/pod.h"
#include "os/loop.h"
#include "placement/units.h"

namespace tessera {

class HamiProtocol {
 public:
  // A container that has its devices. It may be reported more than once, for example after a
  // restart.
  struct BoundEntry {
    std::string pod_uid;  // kubelet's
    std::string container;
    std::string resource{};
    hami::Entry entry;
    std::string less{};  // ShortfallOf
    // The pod's placement for the resource if no scheduler made one, for Vendor::pod_allocated.
    std::string fitted{};
    std::map<std::string, std::string> units{};  // of compute time, by device (grant/fraction.h)
  };
  // Converts a bound container to HAMi's format.
  static BoundEntry BoundEntryOf(const BoundContainer& bound, const hami::Vendor& vendor);
  using Refusal = RefusedContainer;
  struct Times {
    Duration settle{200};        // containers bound within it share one patch
    Duration repeat{1'800'000};  // a refusal that lasts is reported again after it
    Backoff retries = kube::NodeKeeper::kRetries;
  };
  using EmitEvents = std::function<void(std::vector<kube::Event>)>;

  // For pods with devices of this vendor, which outlives it. `emit` may be empty: no events.
  HamiProtocol(const hami::Vendor& vendor, os::Loop& loop, kube::Client& client, std::string node,
               EmitEvents emit, Times times, const Clock& clock = SystemClock());

  // `resources`: counted resources (nvidia.com/gpu) that are served here with requested sizes. Pods
  // that ask for none of them, and their locks, are left alone. `awaits`, if set: true for pods
  // with unclaimed containers; they keep their lock, so that no other pod comes between.
  using Awaits = std::function<bool(const kube::Pod&)>;
  void Serve(std::set<std::string> resources, Awaits awaits = {});
  // PodChanged needs a pod's annotations with this prefix, and its requests for the resources.
  static constexpr char kKeys[] = "hami.io/";

  // Pods that are bound to this node.
  void PodChanged(const kube::PodPtr& pod);
  void PodGone(const kube::Pod& pod);
  // A container of the pod was claimed.
  void Claimed(const std::string& pod_uid);
  void Bound(const BoundEntry& given);
  void Refused(const Refusal& refusal);
  // As HamiLock's. NodeSeen: at intervals, for locks whose owners never came. NodeChanged: at each
  // change.
  void NodeSeen(const json::Value& node) { lock_.NodeSeen(node); }
  void NodeChanged(const json::Value& node) { lock_.NodeChanged(node); }

 private:
  // The recent events for one reason of a container. They keep kubelet's retries from repeating an
  // event.
  struct SentEvents {
    std::set<std::string> messages;
    Steady since;
  };
  struct PodState {
    kube::PodPtr known{};  // shared with the pod cache; null: not seen yet
    // Vendor::pod_allocated when the first container got its devices.
    std::optional<std::string> allocated{};
    std::map<std::string, hami::Entry> given{};  // by container
    std::map<std::string, UnitSet> units{};      // of all its containers, by device
    // By resource: the parts of Vendor::pod_allocated that this agent writes.
    std::map<std::string, std::string> fitted{};
    bool stands = false;  // `allocated` was seen on the pod
    std::map<std::pair<std::string, std::string>, SentEvents> said{};  // by container and reason
    std::vector<kube::Event> untold{};  // queued until its name is known
    std::set<std::string> changes{};    // reported values of Vendor::pod_allocated
    bool unlocked = false;              // its lock was checked
    bool failed = false;                // for good
    bool due = false;                   // a patch may be needed
    bool busy = false;                  // a patch is in progress
    bool evict = false;                 // once it is seen
    bool evicting = false;
    Backoff retries = kube::NodeKeeper::kRetries;
    os::Loop::Handle next{};     // the next Write
    os::Loop::Handle forgets{};  // runs until it is seen

    bool seen() const { return known != nullptr; }
    const kube::Pod& pod() const {
      static const kube::Pod kNone;
      return known ? *known : kNone;
    }
  };
  using PodStatePtr = std::shared_ptr<PodState>;
  using Weak = std::weak_ptr<PodState>;

  kube::PodFields Fields() const;
  bool Serves(const kube::Pod& pod) const;
  bool NeedsLock(const kube::Pod& pod) const;
  const kube::Pod* BoundHere(const hami::LockOwner& owner) const;
  PodStatePtr StateOf(const std::string& uid);
  void RecordAllocated(PodState& state);
  void LookForChange(PodState& state);
  void CheckLock(PodState& state);
  void WriteIn(const PodStatePtr& state, Duration pause);
  void Write(const PodStatePtr& state);
  kube::MetadataPatch PatchFor(const PodState& state) const;
  void PatchEnded(const PodStatePtr& state, const Result<json::Value>& written);
  void ReadAnew(const PodStatePtr& state);
  void PodRead(const PodStatePtr& state, const Result<json::Value>& found);
  void Evict(const PodStatePtr& state);
  void EmitEvent(PodState& state, const std::string& container, const char* reason,
                 std::string message);
  void EmitQueued(PodState& state);

  const hami::Vendor& vendor_;
  os::Loop& loop_;
  kube::Client& client_;
  const std::string node_;
  const EmitEvents emit_;
  const Times times_;
  const Clock& clock_;
  std::set<std::string> resources_;
  Awaits awaits_;
  std::map<std::string, PodStatePtr> pods_;  // by kubelet's UID
  HamiLock lock_;
};

}  // namespace tessera
