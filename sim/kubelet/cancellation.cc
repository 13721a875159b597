// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/cancellation.h"

namespace tessera::kubelet::embedded {

void Cancellation::Cancel() {
  const MutexLock lock(mutex_);
  if (cancelled_) return;
  cancelled_ = true;
  for (const auto& [hook, run] : hooks_) run();
  changed_.notify_all();
}

bool Cancellation::cancelled() const {
  const MutexLock lock(mutex_);
  return cancelled_;
}

bool Cancellation::WaitFor(Duration duration) const {
  MutexLock lock(mutex_);
  return changed_.wait_for(lock, duration,
                           [this]() TESSERA_REQUIRES(mutex_) { return cancelled_; });
}

Cancellation::Hook::Hook(Cancellation& cancellation, std::function<void()> run)
    : cancellation_(cancellation) {
  const MutexLock lock(cancellation_.mutex_);
  if (cancellation_.cancelled_) {
    run();
  } else {
    cancellation_.hooks_.emplace(this, std::move(run));
  }
}

Cancellation::Hook::~Hook() {
  const MutexLock lock(cancellation_.mutex_);
  cancellation_.hooks_.erase(this);
}

std::shared_ptr<void> Outstanding::Begin() {
  const MutexLock lock(mutex_);
  ++count_;
  return {static_cast<void*>(this), [this](void*) {
            const MutexLock ended(mutex_);
            --count_;
            ended_.notify_all();
          }};
}

void Outstanding::WaitForNone() const {
  MutexLock lock(mutex_);
  ended_.wait(lock, [this]() TESSERA_REQUIRES(mutex_) { return count_ == 0; });
}

}  // namespace tessera::kubelet::embedded
