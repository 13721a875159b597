// SPDX-License-Identifier: Apache-2.0
#include "matched/container_claims.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tessera {
namespace {

// True if kubelet may still ask for a container of the pod. All containers of a running pod are
// admitted. A mirror pod in deletion does not count: kubelet mirrors the static pod again under
// another UID, and a forged mirror may stay for ever.
bool MayBeAdmitted(const kube::Pod& pod) {
  const bool orphan = pod.deleting && !pod.mirrored.empty();
  return pod.phase != kube::Pod::Phase::kRunning && !pod.HasEnded() && !orphan;
}

}  // namespace

Result<FractionMatch> ContainerClaims::Claim(const std::string& resource, const Match& match,
                                             Duration within) {
  const auto until = std::chrono::steady_clock::now() + within;
  for (;;) {
    const uint64_t version = pods_.version();
    Result<FractionMatch> claimed = ClaimNow(resource, match);
    if (claimed) events_.Claimed(claimed->pod_uid);
    if (claimed || claimed.error().reason != Reason::kNotMatched) return claimed;
    const bool late = std::chrono::steady_clock::now() >= until;
    if (late || !pods_.AwaitChange(version, until)) return claimed;
  }
}

Result<FractionMatch> ContainerClaims::ClaimNow(const std::string& resource, const Match& match) {
  const MutexLock lock(mutex_);
  std::vector<PodPtr> pods = pods_.AllPods();
  std::erase_if(pods, [](const PodPtr& pod) { return !MayBeAdmitted(*pod); });
  Answered answered = claimed_[resource];
  if (const auto held = held_.find(resource); held != held_.end()) {
    answered.insert(held->second.begin(), held->second.end());
  }
  FractionMatch found = TRY(match(pods, answered));
  claimed_[resource].insert({found.pod_uid, found.container});
  return found;
}

void ContainerClaims::Forget(const std::string& pod_uid) {
  const MutexLock lock(mutex_);
  for (auto& [resource, claimed] : claimed_) {
    std::erase_if(claimed, [&](const auto& one) { return one.first == pod_uid; });
  }
}

void ContainerClaims::SetHeld(std::map<std::string, Answered> held) {
  const MutexLock lock(mutex_);
  held_ = std::move(held);
}

void ContainerClaims::SetClaimed(std::set<std::string> resources) {
  const MutexLock lock(mutex_);
  resources_ = std::move(resources);
}

bool ContainerClaims::IsAnswered(const std::string& resource, const std::string& uid,
                                 const std::string& container) const {
  const auto has = [&](const std::map<std::string, Answered>& of) {
    const auto found = of.find(resource);
    return found != of.end() && found->second.contains({uid, container});
  };
  return has(held_) || has(claimed_);
}

bool ContainerClaims::AwaitsClaim(const kube::Pod& pod) const {
  if (!MayBeAdmitted(pod)) return false;
  const MutexLock lock(mutex_);
  for (const kube::Container& container : pod.containers) {
    for (const std::string& resource : resources_) {
      const bool asks =
          container.limits.contains(resource) || container.requests.contains(resource);
      if (asks && !IsAnswered(resource, pod.KubeletUid(), container.name)) return true;
    }
  }
  return false;
}

}  // namespace tessera
