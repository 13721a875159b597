// SPDX-License-Identifier: Apache-2.0
// The pauses between attempts at something that fails: first a short one, each further one twice as
// long, up to the last; after a success from the first again. Plain data; one thread.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace tessera {

class Backoff {
 public:
  constexpr Backoff(Duration first, Duration last) : first_(first), last_(last) {}

  // An attempt has failed: how long to wait for the next one.
  Duration Failed() {
    pause_ = std::clamp(pause_ * 2, first_, last_);
    return pause_;
  }
  void Succeeded() { pause_ = Duration(0); }
  // The pause after the last attempt; zero where it went well or was never made.
  Duration pause() const { return pause_; }

 private:
  Duration first_;
  Duration last_;
  Duration pause_{0};
};

}  // namespace tessera
