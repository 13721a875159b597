// SPDX-License-Identifier: Apache-2.0
// The words of the region that HAMi's monitor and launches tell each other. Any thread.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "limiter/accounting/ticks.h"
#include "limiter/contract.h"

namespace tessera::limiter {

inline constexpr int32_t kRecent = 2;  // a kernel was launched lately

inline constexpr uint64_t kLongestBlock = 15'000'000'000;  // ns; then it is taken back
// A monitor writes its block again by then: it looks each 5 s.
inline constexpr uint64_t kMonitorsRound = 6'000'000'000;  // ns

// A monitor that lives counts a recent kernel down by then: in each of its rounds.
inline constexpr uint64_t kLongestSilence = 15'000'000'000;  // ns

// Time, and how it is let pass; tests have their own.
struct Clock {
  uint64_t (*now)();
  void (*sleep)(uint64_t ns);
};
void SleepFor(uint64_t ns);
inline constexpr Clock kClock{Now, SleepFor};

// Says that a kernel is launched. False: the monitor lets nothing run, or somebody took its block
// back and it had no time yet to write it again.
bool MarkRecentKernelNow(Region* region, const Clock& clock);
inline bool MarkRecentKernel(Region* region, const Clock& clock = kClock) {
  const int32_t seen = __atomic_load_n(&region->hami.recent_kernel, __ATOMIC_RELAXED);
  return seen == kRecent || MarkRecentKernelNow(region, clock);
}

// Takes back the switch of a monitor that has written nothing for a while: limits hold as where no
// monitor runs. After MarkRecentKernel, which finds what was written; a monitor that comes back
// writes its switch again.
void LookForMonitor(Region* region, const Clock& clock = kClock);

// A launch beside the last one.
enum class SinceLast : uint8_t { kSame, kLater, kAnotherSecond };  // kLater: by a 60th of a second

// Says when the last kernel was launched, to the second; the clock costs no call into the kernel.
// `said`: when this process's last one was, in seconds and 64ths.
inline SinceLast MarkKernelTime(HamiRegion* hami, std::atomic<int64_t>* said) {
  timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  const int64_t moment = now.tv_sec << 6 | now.tv_nsec >> 24;
  const int64_t before = said->load(std::memory_order_relaxed);
  if (before == moment) [[likely]]
    return SinceLast::kSame;
  said->store(moment, std::memory_order_relaxed);
  if (before >> 6 == now.tv_sec) return SinceLast::kLater;
  __atomic_store_n(&hami->last_kernel_time, now.tv_sec, __ATOMIC_RELAXED);
  return SinceLast::kAnotherSecond;
}

// Whether this process's limits of time hold now.
inline bool Holds(CorePolicy policy, const HamiRegion& hami) {
  if (policy != CorePolicy::kDefault) return policy == CorePolicy::kForce;
  return __atomic_load_n(&hami.utilization_switch, __ATOMIC_RELAXED) == 1;
}

// Waits until the monitor lets kernels run. One that died over it blocks nobody for ever: after a
// while the block is taken back, and where the monitor does not write it again nobody waits longer.
void AwaitMonitor(Region* region, const Clock& clock = kClock);

// What a process used of a device lately, as the monitor shows it. Good when it is all zeros.
class Usage {
 public:
  // It ran for so many ns more, or less than was said before.
  void Add(int64_t ns, uint64_t now, HamiUtilization* shown);

 private:
  static constexpr uint64_t kWindow = 1'000'000'000;  // ns

  std::atomic<uint64_t> began_;
  std::atomic<int64_t> used_;
};

}  // namespace tessera::limiter
