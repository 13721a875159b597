// SPDX-License-Identifier: Apache-2.0
// Time that costs no call: the processor's counter. How fast it counts is only roughly known.
#pragma once

#include <cstdint>

namespace tessera::limiter {

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
