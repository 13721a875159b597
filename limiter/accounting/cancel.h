// SPDX-License-Identifier: Apache-2.0
// Threads that are not cancelled where the limiter opens, reads or sleeps: what they hold then
// would be held for ever, for the library has no unwinding.
#pragma once

#include <pthread.h>

namespace tessera::limiter {

// The thread is not cancelled as long as it lives.
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
