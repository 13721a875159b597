// SPDX-License-Identifier: Apache-2.0
// The limiter's own driver calls during captures of the program. For the thread that constructs it.
#pragma once

#include "limiter/driver/driver.h"

namespace tessera::limiter {

// For its lifetime, no capture of the program refuses this thread's driver calls, nor is broken by
// them.
class Relaxed {
 public:
  Relaxed() : mode_(CU_STREAM_CAPTURE_MODE_RELAXED) {
    is_changed_ = TheDriver().cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
  }
  ~Relaxed() {
    if (is_changed_) TheDriver().cuThreadExchangeStreamCaptureMode(&mode_);
  }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  CUstreamCaptureMode mode_;
  bool is_changed_;
};

}  // namespace tessera::limiter
