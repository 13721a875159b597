// SPDX-License-Identifier: Apache-2.0
// Something to be done later that can be asked for again: of all wishes the earliest counts. One
// thread: the loop's.
#pragma once

#include <functional>
#include <utility>

#include "base/clock.h"
#include "os/loop.h"

namespace tessera::os {

// From now to the next of the moments that are `period` apart, the same ones for all who ask: what
// is done now and then while all is quiet is done together, in one wake-up.
inline Duration UntilBeat(Duration period) {
  return period - SystemClock().Now().time_since_epoch() % period;
}

class Alarm {
 public:
  Alarm(Loop& loop, std::function<void()> task) : loop_(loop), task_(std::move(task)) {}

  // Runs the task after `delay`, unless it is going to run sooner anyway.
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
  Steady at_{};  // when it runs, while timer_ is set
  Loop::Handle timer_;
};

}  // namespace tessera::os
