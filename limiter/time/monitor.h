// SPDX-License-Identifier: Apache-2.0
// The words by which HAMi's monitor and launches communicate in the region. Any thread.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "limiter/accounting/ticks.h"
#include "limiter/contract.h"

namespace tessera::limiter {

inline constexpr int32_t kRecent = 2;  // recent_kernel after a launch

inline constexpr uint64_t kLongestBlock = 15'000'000'000;  // ns; then it is taken back
// ns. By then a living monitor has written its block again; it polls every 5 s.
inline constexpr uint64_t kMonitorsRound = 6'000'000'000;  // ns

// ns. By then a living monitor has counted recent_kernel down, as it does in each round.
inline constexpr uint64_t kLongestSilence = 15'000'000'000;  // ns

// The clock, and how to sleep on it; tests have their own.
struct Clock {
  uint64_t (*now)();
  void (*sleep)(uint64_t ns);
};
void SleepFor(uint64_t ns);
inline constexpr Clock kClock{Now, SleepFor};

// Marks a launch. False: the monitor blocks all launches, or its block was taken back and it has
// not had time to write it again.
bool MarkRecentKernelNow(Region* region, const Clock& clock);
inline bool MarkRecentKernel(Region* region, const Clock& clock = kClock) {
  const int32_t seen = __atomic_load_n(&region->hami.recent_kernel, __ATOMIC_RELAXED);
  return seen == kRecent || MarkRecentKernelNow(region, clock);
}

// Resets the switch of a monitor that has been silent for long, so that limits hold as without a
// monitor. Call it after MarkRecentKernel(), which notices its writes. A monitor that comes back
// writes its switch again.
void LookForMonitor(Region* region, const Clock& clock = kClock);

// A launch's time in relation to the last one.
enum class SinceLast : uint8_t { kSame, kLater, kAnotherSecond };  // kLater: by a 60th of a second

// Records the second of the last launch; the clock needs no system call. `said`: this process's
// last launch, in seconds and 64ths.
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

// True if this process's limits of time hold now.
inline bool Holds(CorePolicy policy, const HamiRegion& hami) {
  if (policy != CorePolicy::kDefault) return policy == CorePolicy::kForce;
  return __atomic_load_n(&hami.utilization_switch, __ATOMIC_RELAXED) == 1;
}

// Waits until the monitor lets kernels run. A monitor that died during its block delays launches
// for kLongestBlock. Then the block is taken back, and launches continue unless the monitor writes
// it again.
void AwaitMonitor(Region* region, const Clock& clock = kClock);

// A process's recent use of a device, as the monitor shows it. Valid when it is all zeros.
class Usage {
 public:
  // Adds `ns` of use, or subtracts if negative.
  void Add(int64_t ns, uint64_t now, HamiUtilization* shown);

 private:
  static constexpr uint64_t kWindow = 1'000'000'000;  // ns

  std::atomic<uint64_t> began_;
  std::atomic<int64_t> used_;
};

}  // namespace tessera::limiter
