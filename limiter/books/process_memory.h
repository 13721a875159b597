// SPDX-License-Identifier: Apache-2.0
// Memory of this process that a forked child finds zeroed, however it was forked: what it tells is
// of the parent's slot, driver and threads. A static of this type needs no constructor to run.
#pragma once

#include <sys/mman.h>

#include <atomic>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace tessera::limiter {

// T is good when it is all zeros.
template <typename T>
class ProcessMemory {
 public:
  // Null: there is no memory. Threads that come at once all make some, and the first one's is kept.
  T* Get() {
    T* kept = kept_.load(std::memory_order_acquire);
    if (kept != nullptr) [[likely]]
      return kept;
    void* const memory =
        mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    wiped_ = madvise(memory, sizeof(T), MADV_WIPEONFORK) == 0;
    if (kept_.compare_exchange_strong(kept, static_cast<T*>(memory), std::memory_order_acq_rel)) {
      return static_cast<T*>(memory);
    }
    munmap(memory, sizeof(T));
    return kept;
  }

  // For a child of a kernel before 4.14, which wipes nothing: other memory, at the next call.
  void ForgetParents() {
    if (!wiped_) kept_.store(nullptr, std::memory_order_relaxed);
  }

 private:
  std::atomic<T*> kept_{nullptr};
  bool wiped_ = false;
};

}  // namespace tessera::limiter
