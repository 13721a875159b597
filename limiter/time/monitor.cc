// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/monitor.h"

#include "limiter/log/kept_errno.h"

namespace tessera::limiter {
namespace {

bool MayBeBlocked(const Accounting& accounting, const Clock& clock) {
  const uint64_t at = __atomic_load_n(&accounting.unblocked_at, __ATOMIC_ACQUIRE);
  return at != 0 && clock.now() - at < kMonitorsRound;
}

}  // namespace

bool MarkRecentKernelNow(Region* region, const Clock& clock) {
  int32_t* const word = &region->hami.recent_kernel;
  int32_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  while (seen != kRecent) {
    if (seen < 0 || (seen == 0 && MayBeBlocked(region->accounting, clock))) return false;
    if (__atomic_compare_exchange_n(word, &seen, kRecent, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_ACQUIRE)) {
      __atomic_store_n(&region->accounting.monitor_at, clock.now(), __ATOMIC_RELAXED);
      break;
    }
  }
  return true;
}

void LookForMonitor(Region* region, const Clock& clock) {
  int32_t* const word = &region->hami.utilization_switch;
  int32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  if (seen == 1) return;
  // Read before the clock: another thread may write a later time in between.
  const uint64_t at = __atomic_load_n(&region->accounting.monitor_at, __ATOMIC_ACQUIRE);
  const uint64_t now = clock.now();
  if (at == 0) {
    __atomic_store_n(&region->accounting.monitor_at, now, __ATOMIC_RELAXED);
  } else if (now - at >= kLongestSilence) {
    __atomic_compare_exchange_n(word, &seen, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
}

void SleepFor(uint64_t ns) {
  const KeptErrno kept;
  const timespec time{.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
                      .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
  nanosleep(&time, nullptr);
}

void AwaitMonitor(Region* region, const Clock& clock) {
  constexpr uint64_t kMoment = 5'000'000;  // ns
  int32_t* const word = &region->hami.recent_kernel;
  for (uint64_t began = clock.now(); !MarkRecentKernel(region, clock); clock.sleep(kMoment)) {
    int32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (seen >= 0 || clock.now() - began < kLongestBlock) continue;
    began = clock.now();
    // Written before the word is freed. In the other order another launch would take the free word
    // for the monitor's permission.
    __atomic_store_n(&region->accounting.unblocked_at, began, __ATOMIC_RELEASE);
    __atomic_compare_exchange_n(word, &seen, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
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
