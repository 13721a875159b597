// SPDX-License-Identifier: Apache-2.0
// A lock between threads of this process: one word, unlocked when zero. Mutexes lie in
// ProcessMemory (process_memory.h), so a forked child never inherits a locked one. Never used
// between processes. Their locks are the kernel's, which releases them when a process dies.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace tessera::limiter {

class Mutex {
 public:
  void Lock() {
    uint32_t free = 0;
    if (__atomic_compare_exchange_n(&word_, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      return;
    }
    while (__atomic_exchange_n(&word_, 2, __ATOMIC_ACQUIRE) != 0) {
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
    }
  }
  void Unlock() {
    if (__atomic_exchange_n(&word_, 0, __ATOMIC_RELEASE) == 2) {
      syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  }

 private:
  uint32_t word_ = 0;  // 1: locked; 2: locked, and a thread waits
};

// Holds a lock for its own lifetime.
class Locked {
 public:
  explicit Locked(Mutex* mutex) : mutex_(*mutex) { mutex_.Lock(); }
  ~Locked() { mutex_.Unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace tessera::limiter
