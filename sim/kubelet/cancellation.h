// SPDX-License-Identifier: Apache-2.0
// Ends blocking work: once cancelled, for good, waits end early and the hooks of calls in flight
// are run. Any thread.
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
  // Waits that long; true when cancelled before or meanwhile.
  bool WaitFor(Duration duration) const;

  // While it lives, `run` is called when the work is cancelled, at once when it already is. `run`
  // must neither block nor touch the cancellation.
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

// Counts work that must have ended before its surroundings are taken down. Any thread.
class Outstanding {
 public:
  // The work lasts until the last copy of what is returned is gone.
  [[nodiscard]] std::shared_ptr<void> Begin();
  void WaitForNone() const;

 private:
  mutable Mutex mutex_;
  mutable ConditionVariable ended_;
  int count_ TESSERA_GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera::kubelet::embedded
