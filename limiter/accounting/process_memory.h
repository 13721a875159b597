// SPDX-License-Identifier: Apache-2.0
// Memory of this process that a forked child finds zeroed, however it was forked: what it tells is
// of the parent's slot, driver and threads. A static of this type needs no constructor to run.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace tessera::limiter {

// How many forks lie between this process and the first one that had the limiter.
inline constinit std::atomic<uint32_t> forks_behind{0};
// Has forks counted from now on, and locks of the parent's forgotten that a child must not keep.
void WatchForks();

// T is good when it is all zeros.
template <typename T>
class ProcessMemory {
 public:
  // Null: there is no memory. Threads that come at once all make some, and the first one's is kept.
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

  // Null also while nobody needed it.
  T* IfAny() {
    T* const kept = kept_.load(std::memory_order_acquire);
    return kept != nullptr && IsOwn() ? kept : nullptr;
  }

 private:
  static constexpr uint32_t kWiped = UINT32_MAX;

  // A kernel before 4.14 wipes nothing: the parent's stays where it is, and other memory is taken.
  bool IsOwn() const {
    const uint32_t made = made_.load(std::memory_order_relaxed);
    return made == kWiped || made == forks_behind.load(std::memory_order_relaxed);
  }

  std::atomic<T*> kept_{nullptr};
  std::atomic<uint32_t> made_{kWiped};  // after how many forks; kWiped: whatever they are
};

}  // namespace tessera::limiter
