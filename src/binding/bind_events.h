// SPDX-License-Identifier: Apache-2.0
// Notices of containers that were bound, refused or claimed, for the code that reports to
// schedulers and people, and for `tessera explain`. The binders emit them without knowing the
// listener. Part of BindContext. Any thread; blocks on no I/O of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "binding/pod_cache.h"
#include "binding/refusal_history.h"
#include "grant/fraction.h"
#include "placement/placement.h"

namespace tessera {

// A container is bound to what its pod asks for. The same container may be reported again, for
// example after a restart.
struct BoundContainer {
  std::string pod_uid;  // as kubelet knows it
  std::string container;
  std::string resource{};
  std::vector<Fraction> parts{};
  std::string less{};     // what is less than it asks for, in words
  PodPlacement fitted{};  // its pod's placement, if no scheduler chose it
};

// A container did not get its devices.
struct RefusedContainer {
  std::string pod_uid;
  std::string container;
  Error error;
  bool for_good = false;  // no retry will succeed
  bool evict = false;     // and the pod is to be evicted
};

class BindEvents {
 public:
  struct Listener {
    std::function<void(const BoundContainer&)> bound{};
    std::function<void(const RefusedContainer&)> refused{};
    std::function<void(const std::string& pod_uid)> claimed{};  // one of its containers
  };
  // Returns what was bound before, which may not have been reported. Each new listener gets it.
  // Called on the thread that sets the listener or this.
  using Former = std::function<std::vector<BoundContainer>()>;

  // `pods` outlive it.
  explicit BindEvents(const PodCache& pods) : pods_(pods) {}

  void SetFormer(Former former);
  // Null: there is no listener.
  void SetListener(std::shared_ptr<const Listener> listener);

  void Bound(const BoundContainer& bound) const;
  void Refused(const RefusedContainer& refused) const;
  // kubelet got an answer for one of the pod's containers.
  void Claimed(const std::string& pod_uid) const;

  // Keeps a refusal for `tessera explain`, with the pod's name if it is known.
  void RecordRefusal(RecordedRefusal refusal);
  void EndRefusals(const std::string& pod_uid, const std::string& container) {
    refusals_.MarkOver(pod_uid, container);
  }
  std::vector<RecordedRefusal> RecordedRefusals() const { return refusals_.All(); }

 private:
  std::shared_ptr<const Listener> GetListener() const;
  void TellFormer() const;

  const PodCache& pods_;
  RefusalHistory refusals_;
  mutable Mutex mutex_;
  std::shared_ptr<const Listener> listener_ TESSERA_GUARDED_BY(mutex_);
  Former former_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera
