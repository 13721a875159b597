// SPDX-License-Identifier: Apache-2.0
// The pauses between retries: each is twice the last, from `first` up to `last`. A success starts
// over. Plain data. One thread.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace tessera {

class Backoff {
 public:
  constexpr Backoff(Duration first, Duration last) : first_(first), last_(last) {}

  // Records a failure and returns the pause before the next attempt.
  Duration Failed() {
    pause_ = std::clamp(pause_ * 2, first_, last_);
    return pause_;
  }
  void Succeeded() { pause_ = Duration(0); }
  // The current pause. Zero after a success, or before any attempt.
  Duration pause() const { return pause_; }

 private:
  Duration first_;
  Duration last_;
  Duration pause_{0};
};

}  // namespace tessera
