// SPDX-License-Identifier: Apache-2.0
#include "agent/bind/pod_book.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/bind/held_grants.h"
#include "hami/names.h"

namespace tessera::agent {
namespace {

// Of a pod that runs all containers are admitted. A mirror pod that is being deleted is nobody's: a
// static pod's comes back under another UID, and one that somebody has made up may stay for ever.
bool MayBeAdmitted(const kube::Pod& pod) {
  const bool orphan = pod.deleting && !pod.mirrored.empty();
  return pod.phase != kube::Pod::Phase::kRunning && !pod.HasEnded() && !orphan;
}

}  // namespace

PodPtr PodBook::Find(std::string_view uid) const {
  std::lock_guard lock(mutex_);
  if (const auto found = pods_.find(uid); found != pods_.end()) return found->second;
  const auto ended =
      std::ranges::find_if(ended_, [&](const PodPtr& pod) { return pod->KubeletUid() == uid; });
  return ended == ended_.end() ? nullptr : *ended;
}

std::vector<PodPtr> PodBook::Waiting() const {
  std::vector<PodPtr> waiting;
  std::lock_guard lock(mutex_);
  for (const auto& [uid, pod] : pods_) {
    const bool allocating = pod->Annotation(hami::kPodBindPhase) == hami::kPhaseAllocating;
    if (allocating && pod->phase == kube::Pod::Phase::kPending) waiting.push_back(pod);
  }
  return waiting;
}

void PodBook::Await(const std::string& uid, Duration within, Answer answer) {
  if (PodPtr pod = Find(uid)) return answer(std::move(pod));
  const auto listener = GetListener();
  if (listener != nullptr) return listener->seek(uid, within, std::move(answer));
  answer(Fail(Reason::kNotPlaced,
              "pod {}: what its containers may have is said by its pod, and there is no API server "
              "to ask for that",
              uid));
}

std::string PodBook::NameOf(const std::string& uid) const {
  const PodPtr pod = Find(uid);
  return pod == nullptr ? uid : pod->FullName();
}

PodPtr PodBook::FindNamed(std::string_view name) const {
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(pods_, [&](const auto& known) {
    return known.second->mirrored.empty() && known.second->FullName() == name;
  });
  return found == pods_.end() ? nullptr : found->second;
}

Result<VgpuMatch> PodBook::Claim(const std::string& resource, const Match& match, Duration within) {
  const auto until = std::chrono::steady_clock::now() + within;
  std::unique_lock lock(mutex_);
  Result<VgpuMatch> claimed = ClaimNow(resource, match);
  while (!claimed && claimed.error().reason == Reason::kNotMatched && listener_ != nullptr) {
    if (changed_.wait_until(lock, until) == std::cv_status::timeout) break;
    claimed = ClaimNow(resource, match);
  }
  const auto listener = listener_;
  lock.unlock();
  if (claimed && listener != nullptr && listener->claimed) listener->claimed(claimed->pod_uid);
  return claimed;
}

Result<VgpuMatch> PodBook::ClaimNow(const std::string& resource, const Match& match) {
  std::vector<PodPtr> pods;
  for (const auto& [uid, pod] : pods_) {
    if (MayBeAdmitted(*pod)) pods.push_back(pod);
  }
  Answered answered = claimed_[resource];
  if (const auto held = held_.find(resource); held != held_.end()) {
    answered.insert(held->second.begin(), held->second.end());
  }
  VgpuMatch found = TRY(match(pods, answered));
  claimed_[resource].insert({found.pod_uid, found.container});
  return found;
}

void PodBook::SetHeld(std::map<std::string, Answered> held) {
  std::lock_guard lock(mutex_);
  held_ = std::move(held);
}

void PodBook::SetClaimed(std::set<std::string> resources) {
  std::lock_guard lock(mutex_);
  claims_ = std::move(resources);
}

bool PodBook::IsAnswered(const std::string& resource, const std::string& uid,
                         const std::string& container) const {
  const auto has = [&](const std::map<std::string, Answered>& of) {
    const auto found = of.find(resource);
    return found != of.end() && found->second.contains({uid, container});
  };
  return has(held_) || has(claimed_);
}

bool PodBook::AwaitsClaim(const kube::Pod& pod) const {
  if (!MayBeAdmitted(pod)) return false;
  std::lock_guard lock(mutex_);
  for (const kube::Container& container : pod.containers) {
    for (const std::string& resource : claims_) {
      const bool asks =
          container.limits.contains(resource) || container.requests.contains(resource);
      if (asks && !IsAnswered(resource, pod.KubeletUid(), container.name)) return true;
    }
  }
  return false;
}

void PodBook::Bound(const HamiProtocol::Given& given) const {
  const auto listener = GetListener();
  if (listener != nullptr) listener->bound(given);
}

void PodBook::Refused(const HamiProtocol::Refusal& refusal) const {
  const auto listener = GetListener();
  if (listener != nullptr) listener->refused(refusal);
}

void PodBook::Keep(KeptRefusal refusal) {
  if (const PodPtr pod = Find(refusal.pod_uid)) refusal.pod = pod->FullName();
  refusals_.Put(std::move(refusal), SystemClock().WallNow());
}

std::shared_ptr<const PodBook::Listener> PodBook::GetListener() const {
  std::lock_guard lock(mutex_);
  return listener_;
}

void PodBook::SetListener(std::shared_ptr<const Listener> listener) {
  {
    std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
  }
  TellFormer();
}

void PodBook::SetFormer(Former former) {
  {
    std::lock_guard lock(mutex_);
    former_ = std::move(former);
  }
  TellFormer();
}

void PodBook::TellFormer() const {
  const auto [listener, former] = [this] {
    std::lock_guard lock(mutex_);
    return std::pair(listener_, former_);
  }();
  if (listener == nullptr || !former) return;
  for (const HamiProtocol::Given& given : former()) listener->bound(given);
}

void PodBook::Put(PodPtr pod) {
  {
    std::lock_guard lock(mutex_);
    pods_[pod->KubeletUid()] = pod;
  }
  changed_.notify_all();
}

void PodBook::Take(const kube::Pod& pod) {
  {
    std::lock_guard lock(mutex_);
    pods_.erase(pod.KubeletUid());
    for (auto& [resource, claimed] : claimed_) {
      std::erase_if(claimed, [&](const auto& one) { return one.first == pod.KubeletUid(); });
    }
  }
  changed_.notify_all();
}

void PodBook::End(const PodPtr& pod) {
  constexpr size_t kMost = 512;  // kubelet forgets such a pod when it admits the next one
  kube::Pod rest;
  rest.uid = pod->uid;
  rest.pod_namespace = pod->pod_namespace;
  rest.name = pod->name;
  rest.node = pod->node;
  rest.mirrored = pod->mirrored;
  rest.phase = pod->phase;
  std::lock_guard lock(mutex_);
  ended_.push_back(std::make_shared<const kube::Pod>(std::move(rest)));
  if (ended_.size() > kMost) ended_.pop_front();
}

}  // namespace tessera::agent
