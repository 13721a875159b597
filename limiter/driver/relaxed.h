// SPDX-License-Identifier: Apache-2.0
// Calls of the limiter's own beside those that programs capture. Of the thread that makes one.
#pragma once

#include "limiter/driver/driver.h"

namespace tessera::limiter {

// Driver calls of the limiter's own, which no capture of the program's bars, nor do they break one.
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
