// SPDX-License-Identifier: Apache-2.0
// The wish of whoever watches to end it. Any thread.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace tessera::demo {

class Interruption {
 public:
  // The first one counts.
  void Raise(int signal) {
    const std::lock_guard lock(mutex_);
    if (signal_ == 0) signal_ = signal;
    raised_.notify_all();
  }
  // 0: none so far.
  int signal() const {
    const std::lock_guard lock(mutex_);
    return signal_;
  }
  // Waits for it; false when `until` came first.
  bool WaitUntil(Steady until) const {
    std::unique_lock lock(mutex_);
    return raised_.wait_until(lock, until, [this] { return signal_ != 0; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable raised_;
  int signal_ = 0;
};

}  // namespace tessera::demo
