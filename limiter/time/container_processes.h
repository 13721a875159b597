// SPDX-License-Identifier: Apache-2.0
// The other processes of the container, on one device. A measured short kernel may have waited for
// an unmeasured one of theirs, so it is charged its cost alone. The uncharged time must match what
// they were charged; the rest is charged after all. A process's own; valid when it is all zeros.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/contract.h"
#include "limiter/time/neighbours.h"

namespace tessera::limiter {

class ContainerProcesses {
 public:
  // This process was charged `ns` more, or less if negative. Any thread.
  void NoteOwn(int64_t ns) { own_.fetch_add(ns, std::memory_order_relaxed); }

  // Adds uncharged time; returns the part of it that must be charged. One thread at a time.
  uint64_t Unexplained(const TimeAccounting& accounting, uint64_t ns) {
    const uint64_t used = __atomic_load_n(&accounting.used, __ATOMIC_RELAXED);
    // Any process of the container can write `used`, so the difference may wrap.
    const auto own = static_cast<uint64_t>(own_.load(std::memory_order_relaxed));
    const auto had = static_cast<int64_t>(used - own);
    if (!has_looked_) had_ = had;
    has_looked_ = true;
    waited_ += ns;
    // A refund to them counts only once their charge has risen above the old mark.
    if (had > had_) {
      const auto more = static_cast<uint64_t>(had) - static_cast<uint64_t>(had_);
      waited_ -= more < waited_ ? more : waited_;
      had_ = had;
    }
    const uint64_t left = waited_ > kUnexplained ? waited_ - kUnexplained : 0;
    waited_ -= left;
    return left;
  }

 private:
  std::atomic<int64_t> own_;
  int64_t had_;
  uint64_t waited_;
  bool has_looked_;
};

}  // namespace tessera::limiter
