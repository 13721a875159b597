// SPDX-License-Identifier: Apache-2.0
// Keeps a thread from being cancelled while the limiter opens, reads or sleeps. The library does
// not unwind, so a cancelled thread would never release its locks and descriptors.
#pragma once

#include <pthread.h>

namespace tessera::limiter {

// Disables cancellation of the calling thread for its own lifetime.
class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() {
    int ignored = 0;
    pthread_setcancelstate(before_, &ignored);
  }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace tessera::limiter
