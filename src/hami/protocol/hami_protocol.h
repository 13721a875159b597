// SPDX-License-Identifier: Apache-2.0
// What HAMi's scheduler, and the people whose pods they are, learn of this node's pods with virtual
// GPUs: the node's lock is let go of (hami_lock.h); once all containers of a pod have their devices
// its bind-phase is "success", when no retry can give them "failed"; and what was handed out is
// taken from Vendor::pod_to_allocate, for whoever else reads that. Vendor::pod_allocated is never
// changed, and written for those pods alone that no scheduler has placed. A pod is patched at most
// twice: when the first of its containers have their devices, and when all do.
//
// Each patch names the pod and the version that it was decided on, and is decided anew where that
// is another by now. While the API server cannot be reached, all of it waits; nothing waits for it.
//
// Owned by whoever owns the client, which outlives it. One thread: the loop's.
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

namespace tessera {

class HamiProtocol {
 public:
  // A container has its devices. The same one may be told of again, as after a restart.
  struct BoundEntry {
    std::string pod_uid;  // as kubelet knows it
    std::string container;
    std::string resource{};
    hami::Entry entry;
    std::string less{};  // ShortfallOf
    // What its pod has of the resource, where no scheduler has chosen that: for
    // Vendor::pod_allocated.
    std::string fitted{};
  };
  // As HAMi's annotations have it.
  static BoundEntry BoundEntryOf(const BoundContainer& bound, const hami::Vendor& vendor);
  using Refusal = RefusedContainer;
  struct Times {
    Duration settle{200};        // containers that have their devices within it are one patch
    Duration repeat{1'800'000};  // what is still refused then is said again
    Backoff retries = kube::NodeKeeper::kRetries;
  };
  using EmitEvents = std::function<void(std::vector<kube::Event>)>;

  // For pods with devices of this vendor, which outlives it. `tell` may be empty: there are no
  // events.
  HamiProtocol(const hami::Vendor& vendor, os::Loop& loop, kube::Client& client, std::string node,
               EmitEvents emit, Times times, const Clock& clock = SystemClock());

  // The resources that are counted (nvidia.com/gpu), and served here with sizes that pods ask for.
  // A pod that asks for none of them is left to others, its lock as well.
  // `awaits`, if any: pods whose containers kubelet has still to ask for, and who need their lock
  // so that nobody comes between.
  using Awaits = std::function<bool(const kube::Pod&)>;
  void Serve(std::set<std::string> resources, Awaits awaits = {});
  // What is to be known of a pod that is told of: its annotations of this prefix, and how many of
  // the resources it asks for.
  static constexpr char kKeys[] = "hami.io/";

  // Pods that are bound to this node.
  void PodChanged(const kube::PodPtr& pod);
  void PodGone(const kube::Pod& pod);
  // kubelet has asked for one of its containers.
  void Claimed(const std::string& pod_uid);
  void Bound(const BoundEntry& given);
  void Refused(const Refusal& refusal);
  // As HamiLock's: now and then, for locks whose owners never came; and whenever it is another.
  void NodeSeen(const json::Value& node) { lock_.NodeSeen(node); }
  void NodeChanged(const json::Value& node) { lock_.NodeChanged(node); }

 private:
  // What was last said for a reason of a container, so that kubelet's retries are not repeated.
  struct SentEvents {
    std::set<std::string> messages;
    Steady since;
  };
  struct PodState {
    kube::PodPtr known{};  // the one that all share; null: it was not seen yet
    // Vendor::pod_allocated when the first container was given its devices.
    std::optional<std::string> allocated{};
    std::map<std::string, hami::Entry> given{};  // by container
    // By resource: what is to stand in Vendor::pod_allocated, one behind the other.
    std::map<std::string, std::string> fitted{};
    bool stands = false;  // `allocated`, and was seen there
    std::map<std::pair<std::string, std::string>, SentEvents> said{};  // by container and reason
    std::vector<kube::Event> untold{};                                 // until its name is known
    std::set<std::string> changes{};  // of Vendor::pod_allocated, that were told
    bool unlocked = false;            // its lock was looked at
    bool failed = false;              // for good
    bool due = false;                 // a patch may be needed
    bool busy = false;                // with one
    bool evict = false;               // as soon as it is seen
    bool evicting = false;
    Backoff retries = kube::NodeKeeper::kRetries;
    os::Loop::Handle next{};     // look at what is due
    os::Loop::Handle forgets{};  // while it was not seen

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
  std::map<std::string, PodStatePtr> pods_;  // by the UID that kubelet knows them by
  HamiLock lock_;
};

}  // namespace tessera
