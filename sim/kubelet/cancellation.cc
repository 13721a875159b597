// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/cancellation.h"

namespace tessera::kubelet::embedded {

void Cancellation::Cancel() {
  std::lock_guard lock(mutex_);
  if (cancelled_) return;
  cancelled_ = true;
  for (const auto& [hook, run] : hooks_) run();
  changed_.notify_all();
}

bool Cancellation::cancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

bool Cancellation::WaitFor(Duration duration) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, duration, [this] { return cancelled_; });
}

Cancellation::Hook::Hook(Cancellation& cancellation, std::function<void()> run)
    : cancellation_(cancellation) {
  std::lock_guard lock(cancellation_.mutex_);
  if (cancellation_.cancelled_) {
    run();
  } else {
    cancellation_.hooks_.emplace(this, std::move(run));
  }
}

Cancellation::Hook::~Hook() {
  std::lock_guard lock(cancellation_.mutex_);
  cancellation_.hooks_.erase(this);
}

std::shared_ptr<void> Outstanding::Begin() {
  std::lock_guard lock(mutex_);
  ++count_;
  return {static_cast<void*>(this), [this](void*) {
            std::lock_guard ended(mutex_);
            --count_;
            ended_.notify_all();
          }};
}

void Outstanding::WaitForNone() const {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return count_ == 0; });
}

}  // namespace tessera::kubelet::embedded
