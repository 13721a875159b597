// SPDX-License-Identifier: Apache-2.0
#include "binding/pod_cache.h"

#include <algorithm>
#include <utility>

#include "hami/names.h"

namespace tessera {

PodPtr PodCache::Find(std::string_view uid) const {
  const MutexLock lock(mutex_);
  if (const auto found = pods_.find(uid); found != pods_.end()) return found->second;
  const auto ended =
      std::ranges::find_if(ended_, [&](const PodPtr& pod) { return pod->KubeletUid() == uid; });
  return ended == ended_.end() ? nullptr : *ended;
}

PodPtr PodCache::FindNamed(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(pods_, [&](const auto& known) {
    return known.second->mirrored.empty() && known.second->FullName() == name;
  });
  return found == pods_.end() ? nullptr : found->second;
}

std::string PodCache::NameOf(const std::string& uid) const {
  const PodPtr pod = Find(uid);
  return pod == nullptr ? uid : pod->FullName();
}

std::vector<PodPtr> PodCache::PodsToAllocate() const {
  std::vector<PodPtr> waiting;
  const MutexLock lock(mutex_);
  for (const auto& [uid, pod] : pods_) {
    const std::string_view phase = pod->Annotation(hami::kPodBindPhase);
    const bool chosen = phase == hami::kPhaseAllocating ||
                        (phase.empty() && !pod->Annotation(hami::kPodNode).empty());
    if (chosen && pod->phase == kube::Pod::Phase::kPending) waiting.push_back(pod);
  }
  return waiting;
}

std::vector<PodPtr> PodCache::AllPods() const {
  std::vector<PodPtr> all;
  const MutexLock lock(mutex_);
  all.reserve(pods_.size());
  for (const auto& [uid, pod] : pods_) all.push_back(pod);
  return all;
}

void PodCache::Await(const std::string& uid, Duration within, Answer answer) {
  if (PodPtr pod = Find(uid)) return answer(std::move(pod));
  const Lookup lookup = [this] {
    const MutexLock lock(mutex_);
    return lookup_;
  }();
  if (lookup) return lookup(uid, within, std::move(answer));
  answer(Fail(Reason::kNotPlaced,
              "pod {}: the agent needs the pod's requests, and no API server is configured", uid));
}

uint64_t PodCache::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

bool PodCache::AwaitChange(uint64_t version, std::chrono::steady_clock::time_point until) const {
  MutexLock lock(mutex_);
  if (version_ == version && !lookup_) return false;
  bool in_time = true;
  while (version_ == version && in_time) {
    in_time = changed_.wait_until(lock, until) == std::cv_status::no_timeout;
  }
  return version_ != version;
}

void PodCache::SetLookup(Lookup lookup) {
  const MutexLock lock(mutex_);
  lookup_ = std::move(lookup);
}

void PodCache::Put(PodPtr pod) {
  {
    const MutexLock lock(mutex_);
    pods_[pod->KubeletUid()] = pod;
    ++version_;
  }
  changed_.notify_all();
}

void PodCache::Remove(const kube::Pod& pod) {
  {
    const MutexLock lock(mutex_);
    pods_.erase(pod.KubeletUid());
    ++version_;
  }
  changed_.notify_all();
}

void PodCache::MarkEnded(const PodPtr& pod) {
  constexpr size_t kMost = 512;  // kubelet forgets an ended pod when it admits the next one
  kube::Pod rest;
  rest.uid = pod->uid;
  rest.pod_namespace = pod->pod_namespace;
  rest.name = pod->name;
  rest.node = pod->node;
  rest.mirrored = pod->mirrored;
  rest.phase = pod->phase;
  const MutexLock lock(mutex_);
  ended_.push_back(std::make_shared<const kube::Pod>(std::move(rest)));
  if (ended_.size() > kMost) ended_.pop_front();
}

}  // namespace tessera
