// SPDX-License-Identifier: Apache-2.0
// The pods of this node, as last reported by the API server: one copy for all code that binds
// grants. Part of BindContext. Written on the API server's thread, read on any.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "kube/objects/pod.h"

namespace tessera {

using kube::PodPtr;

class PodCache {
 public:
  // Called once, on any thread.
  using Answer = std::function<void(const Result<PodPtr>&)>;
  // Finds the pod of this UID: waits this long for the watch, then asks for one list (as
  // kube::NodePods::Await). Any thread; does not block.
  using Lookup = std::function<void(const std::string& uid, Duration within, Answer answer)>;

  // The pod with the UID that kubelet knows, also if it has ended. Null: unknown.
  PodPtr Find(std::string_view uid) const;
  // The pod with this NAMESPACE/NAME; never a static pod.
  PodPtr FindNamed(std::string_view name) const;
  // NAMESPACE/NAME for people; the UID if the pod is unknown.
  std::string NameOf(const std::string& uid) const;
  // Pending pods that a scheduler chose devices for. If the scheduler also wrote a phase, only
  // those that have no devices yet.
  std::vector<PodPtr> PodsToAllocate() const;
  // All pods that were not removed, by UID.
  std::vector<PodPtr> AllPods() const;
  // As Find, but waits for an unknown pod. kNotPlaced if there is no API server to ask.
  void Await(const std::string& uid, Duration within, Answer answer);

  // Grows with each change of the pods.
  uint64_t version() const;
  // Blocks until the version differs. False: it did not in time, or no API server reports changes.
  bool AwaitChange(uint64_t version, std::chrono::steady_clock::time_point until) const;

  // Sets how unknown pods are found; null: there is no API server.
  void SetLookup(Lookup lookup);
  void Put(const kube::Pod& pod) { Put(std::make_shared<const kube::Pod>(pod)); }
  void Put(PodPtr pod);
  void Remove(const kube::Pod& pod);
  // A known pod has ended. Its devices are free, though kubelet may still have its containers. The
  // cache remembers the last ended pods.
  void MarkEnded(const PodPtr& pod);

 private:
  mutable Mutex mutex_;
  mutable ConditionVariable changed_;  // pods_
  Lookup lookup_ TESSERA_GUARDED_BY(mutex_);
  std::map<std::string, PodPtr, std::less<>> pods_ TESSERA_GUARDED_BY(mutex_);
  std::deque<PodPtr> ended_ TESSERA_GUARDED_BY(mutex_);  // without their annotations and containers
  uint64_t version_ TESSERA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
