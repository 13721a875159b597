// SPDX-License-Identifier: Apache-2.0
// A timer for one task that can be requested several times; the earliest request counts. One
// thread: the loop's.
#pragma once

#include <functional>
#include <utility>

#include "base/clock.h"
#include "os/loop.h"

namespace tessera::os {

// The time until the next multiple of `period` on a shared clock. Idle periodic work of all callers
// thus shares one wake-up.
inline Duration UntilBeat(Duration period) {
  return period - SystemClock().Now().time_since_epoch() % period;
}

class Alarm {
 public:
  Alarm(Loop& loop, std::function<void()> task) : loop_(loop), task_(std::move(task)) {}

  // Runs the task after `delay`, unless it is already due sooner.
  void RingWithin(Duration delay) {
    const Steady at = SystemClock().Now() + delay;
    if (timer_ && at_ <= at) return;
    at_ = at;
    timer_ = loop_.After(delay, [this] {
      timer_ = Loop::Handle();
      task_();
    });
  }
  void Cancel() { timer_ = Loop::Handle(); }

 private:
  Loop& loop_;
  const std::function<void()> task_;
  Steady at_{};  // when the task runs, while timer_ is set
  Loop::Handle timer_;
};

}  // namespace tessera::os
