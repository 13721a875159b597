// SPDX-License-Identifier: Apache-2.0
// Memory that is zeroed in a forked child, however it was forked: its contents describe the
// parent's slot, driver and threads. A static of this type needs no constructor.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace tessera::limiter {

// The number of forks between this process and the first one that had the limiter.
inline constinit std::atomic<uint32_t> forks_behind{0};
// From now on each fork is counted, and the child forgets its parent's locks.
void WatchForks();

// T must be valid when it is all zeros.
template <typename T>
class ProcessMemory {
 public:
  // Null: no memory. Threads that race here each map memory; the first one's is kept and the others
  // unmap theirs.
  T* Get() {
    T* kept = kept_.load(std::memory_order_acquire);
    if (kept != nullptr && IsOwn()) [[likely]]
      return kept;
    void* const memory =
        mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    const bool wiped = madvise(memory, sizeof(T), MADV_WIPEONFORK) == 0;
    WatchForks();
    made_.store(wiped ? kWiped : forks_behind.load(std::memory_order_relaxed),
                std::memory_order_relaxed);
    if (kept_.compare_exchange_strong(kept, static_cast<T*>(memory), std::memory_order_acq_rel)) {
      return static_cast<T*>(memory);
    }
    munmap(memory, sizeof(T));
    return kept;
  }

  // Null also if Get() was never called in this process.
  T* IfAny() {
    T* const kept = kept_.load(std::memory_order_acquire);
    return kept != nullptr && IsOwn() ? kept : nullptr;
  }

 private:
  static constexpr uint32_t kWiped = UINT32_MAX;

  // A kernel before 4.14 zeroes nothing. The child then leaves its parent's memory in place and
  // maps its own.
  bool IsOwn() const {
    const uint32_t made = made_.load(std::memory_order_relaxed);
    return made == kWiped || made == forks_behind.load(std::memory_order_relaxed);
  }

  std::atomic<T*> kept_{nullptr};
  std::atomic<uint32_t> made_{kWiped};  // forks_behind at the time; kWiped: the kernel zeroes it
};

}  // namespace tessera::limiter
