// SPDX-License-Identifier: Apache-2.0
// Blocks signals in the calling thread. By system calls, since libc's set is larger than the
// kernel's.
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tessera::limiter {

// For its own lifetime.
class BlockedSignals {
 public:
  // One bit a signal, the lowest for signal 1.
  explicit BlockedSignals(uint64_t set)
      : worked_(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, &before_, sizeof before_) == 0) {}
  ~BlockedSignals() {
    if (worked_) syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  bool worked() const { return worked_; }

 private:
  uint64_t before_ = 0;
  bool worked_;
};

}  // namespace tessera::limiter
