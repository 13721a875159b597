// SPDX-License-Identifier: Apache-2.0
#include "agent/pod_book.h"

#include <utility>

#include "hami/names.h"

namespace tessera::agent {

PodPtr PodBook::Find(std::string_view uid) const {
  std::lock_guard lock(mutex_);
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : found->second;
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

void PodBook::Bound(const HamiProtocol::Given& given) const {
  const auto listener = GetListener();
  if (listener != nullptr) listener->bound(given);
}

void PodBook::Refused(const HamiProtocol::Refusal& refusal) const {
  const auto listener = GetListener();
  if (listener != nullptr) listener->refused(refusal);
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

void PodBook::Put(const kube::Pod& pod) {
  auto copy = std::make_shared<const kube::Pod>(pod);
  std::lock_guard lock(mutex_);
  pods_[pod.KubeletUid()] = std::move(copy);
}

void PodBook::Take(const kube::Pod& pod) {
  std::lock_guard lock(mutex_);
  pods_.erase(pod.KubeletUid());
}

}  // namespace tessera::agent
