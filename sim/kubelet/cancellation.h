// SPDX-License-Identifier: Apache-2.0
// Ends blocking work. Once cancelled, it stays so: waits end early, and the hooks of calls in
// flight run. Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/mutex.h"

namespace tessera::kubelet::embedded {

class Cancellation {
 public:
  void Cancel();
  bool cancelled() const;
  // Waits for `duration`; true: it was cancelled.
  bool WaitFor(Duration duration) const;

  // While it lives, a cancellation calls `run`, at once if it has happened already. `run` must
  // neither block nor use the cancellation, as it runs under the mutex.
  class Hook {
   public:
    Hook(Cancellation& cancellation, std::function<void()> run);
    ~Hook();
    Hook(const Hook&) = delete;
    Hook& operator=(const Hook&) = delete;

   private:
    Cancellation& cancellation_;
  };

 private:
  mutable Mutex mutex_;
  mutable ConditionVariable changed_;
  bool cancelled_ TESSERA_GUARDED_BY(mutex_) = false;
  std::map<const Hook*, std::function<void()>> hooks_ TESSERA_GUARDED_BY(mutex_);
};

// Counts work in flight, so that its owner can wait for its end. Any thread.
class Outstanding {
 public:
  // The work ends with the last copy of the returned pointer.
  [[nodiscard]] std::shared_ptr<void> Begin();
  void WaitForNone() const;

 private:
  mutable Mutex mutex_;
  mutable ConditionVariable ended_;
  int count_ TESSERA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera::kubelet::embedded
