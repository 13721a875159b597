// SPDX-License-Identifier: Apache-2.0
#include "binding/bind_events.h"

#include <utility>

#include "base/clock.h"

namespace tessera {

void BindEvents::Bound(const BoundContainer& bound) const {
  const auto listener = GetListener();
  if (listener != nullptr && listener->bound) listener->bound(bound);
}

void BindEvents::Refused(const RefusedContainer& refused) const {
  const auto listener = GetListener();
  if (listener != nullptr && listener->refused) listener->refused(refused);
}

void BindEvents::Claimed(const std::string& pod_uid) const {
  const auto listener = GetListener();
  if (listener != nullptr && listener->claimed) listener->claimed(pod_uid);
}

void BindEvents::RecordRefusal(RecordedRefusal refusal) {
  if (const PodPtr pod = pods_.Find(refusal.pod_uid)) refusal.pod = pod->FullName();
  refusals_.Add(std::move(refusal), SystemClock().WallNow());
}

std::shared_ptr<const BindEvents::Listener> BindEvents::GetListener() const {
  const MutexLock lock(mutex_);
  return listener_;
}

void BindEvents::SetListener(std::shared_ptr<const Listener> listener) {
  {
    const MutexLock lock(mutex_);
    listener_ = std::move(listener);
  }
  TellFormer();
}

void BindEvents::SetFormer(Former former) {
  {
    const MutexLock lock(mutex_);
    former_ = std::move(former);
  }
  TellFormer();
}

void BindEvents::TellFormer() const {
  const auto [listener, former] = [this] {
    const MutexLock lock(mutex_);
    return std::pair(listener_, former_);
  }();
  if (listener == nullptr || !listener->bound || !former) return;
  for (const BoundContainer& bound : former()) listener->bound(bound);
}

}  // namespace tessera
