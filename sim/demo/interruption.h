// SPDX-License-Identifier: Apache-2.0
// The viewer's request to end the demo. Any thread.
#pragma once

#include "base/clock.h"
#include "base/mutex.h"

namespace tessera::demo {

class Interruption {
 public:
  // The first signal counts.
  void Raise(int signal) {
    const MutexLock lock(mutex_);
    if (signal_ == 0) signal_ = signal;
    raised_.notify_all();
  }
  // 0: none yet.
  int signal() const {
    const MutexLock lock(mutex_);
    return signal_;
  }
  // Waits for the request; false: `until` came first.
  bool WaitUntil(Steady until) const {
    MutexLock lock(mutex_);
    return raised_.wait_until(lock, until,
                              [this]() TESSERA_REQUIRES(mutex_) { return signal_ != 0; });
  }

 private:
  mutable Mutex mutex_;
  mutable ConditionVariable raised_;
  int signal_ TESSERA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera::demo
