// SPDX-License-Identifier: Apache-2.0
// What became of containers: for whoever tells their scheduler and their people, and for
// `tessera explain`. Who binds grants does not know who listens. Any thread; waits for nothing.
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

// A container has what its pod asks for. The same one may be told of again, as after a restart.
struct BoundContainer {
  std::string pod_uid;  // as kubelet knows it
  std::string container;
  std::string resource{};
  std::vector<Fraction> parts{};
  std::string less{};     // what of it is less than it asks for, in words
  PodPlacement fitted{};  // what its pod has of the resource, where no scheduler has chosen that
};

// A container was not given its devices.
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
  // What was bound before, and may not have been told: told to each listener when it is set. Called
  // by who sets either.
  using Former = std::function<std::vector<BoundContainer>()>;

  // `pods` outlive it.
  explicit BindEvents(const PodCache& pods) : pods_(pods) {}

  void SetFormer(Former former);
  // Null: nobody listens.
  void SetListener(std::shared_ptr<const Listener> listener);

  void Bound(const BoundContainer& bound) const;
  void Refused(const RefusedContainer& refused) const;
  // kubelet was answered for one of the pod's containers.
  void Claimed(const std::string& pod_uid) const;

  // Refusals of any container are kept, with the pod's name.
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
