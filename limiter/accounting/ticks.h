// SPDX-License-Identifier: Apache-2.0
// Time. Ticks() reads the processor's counter without a system call; its rate is only roughly
// known.
#pragma once

#include <time.h>

#include <cstdint>

namespace tessera::limiter {

// The monotonic clock, in ns.
inline uint64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t Ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#endif
}

}  // namespace tessera::limiter
