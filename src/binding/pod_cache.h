// SPDX-License-Identifier: Apache-2.0
// The pods of this node as the API server was last known to have them, one copy for all who bind
// grants. Written on the API server's thread, read on any.
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
  // Has the pod of this UID looked for, for so long and then once more in a list of all (as
  // kube::NodePods::Await). Any thread; waits for nothing.
  using Lookup = std::function<void(const std::string& uid, Duration within, Answer answer)>;

  // By the UID that kubelet knows it by, also of one that has ended; null where it is not known.
  PodPtr Find(std::string_view uid) const;
  // By NAMESPACE/NAME; no static pod's.
  PodPtr FindNamed(std::string_view name) const;
  // NAMESPACE/NAME for people, or the UID where that alone is known.
  std::string NameOf(const std::string& uid) const;
  // Pending ones whose devices a scheduler has chosen. Where it gave them a phase, those that do
  // not have them yet.
  std::vector<PodPtr> PodsToAllocate() const;
  // Those that have not been removed, by UID.
  std::vector<PodPtr> AllPods() const;
  // As Find, but one that is not known yet is waited for. kNotPlaced where no API server could say
  // which pod it is, and why it cannot be had.
  void Await(const std::string& uid, Duration within, Answer answer);

  // Grows with each change.
  uint64_t version() const;
  // Blocks until the version is another. False: not by then, or no API server tells of changes.
  bool AwaitChange(uint64_t version, std::chrono::steady_clock::time_point until) const;

  // How pods are looked for; null: there is no API server.
  void SetLookup(Lookup lookup);
  void Put(const kube::Pod& pod) { Put(std::make_shared<const kube::Pod>(pod)); }
  void Put(PodPtr pod);
  void Remove(const kube::Pod& pod);
  // One that was taken has ended: what it had is free, while kubelet has its containers still. The
  // last ones are known.
  void MarkEnded(const PodPtr& pod);

 private:
  mutable Mutex mutex_;
  mutable ConditionVariable changed_;  // pods_
  Lookup lookup_ TESSERA_GUARDED_BY(mutex_);
  std::map<std::string, PodPtr, std::less<>> pods_ TESSERA_GUARDED_BY(mutex_);
  std::deque<PodPtr> ended_ TESSERA_GUARDED_BY(mutex_);  // without what they say
  uint64_t version_ TESSERA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
