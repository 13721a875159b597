// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/monitor.h"

#include "limiter/books/ticks.h"

namespace tessera::limiter {

void AwaitMonitor(HamiRegion* hami, uint64_t while_ns) {
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 5'000'000};
  const uint64_t began = Now();
  while (!SayRecent(hami)) {
    if (Now() - began >= while_ns) {
      int32_t blocked = kBlocked;
      __atomic_compare_exchange_n(&hami->recent_kernel, &blocked, 0, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED);
      if (blocked < kBlocked) __atomic_store_n(&hami->recent_kernel, 0, __ATOMIC_RELAXED);
      continue;
    }
    nanosleep(&kMoment, nullptr);
  }
}

void Usage::Add(int64_t ns, uint64_t now, HamiUtilization* shown) {
  used_.fetch_add(ns, std::memory_order_relaxed);
  uint64_t began = began_.load(std::memory_order_relaxed);
  if (now - began < kWindow) return;
  if (!began_.compare_exchange_strong(began, now, std::memory_order_relaxed)) return;
  const int64_t used = used_.exchange(0, std::memory_order_relaxed);
  if (began == 0 || used < 0) return;
  const uint64_t percent = static_cast<uint64_t>(used) * 100 / (now - began);
  __atomic_store_n(&shown->sm_at, now, __ATOMIC_RELAXED);
  __atomic_store_n(&shown->sm, percent < 100 ? percent : 100, __ATOMIC_RELAXED);
}

}  // namespace tessera::limiter
