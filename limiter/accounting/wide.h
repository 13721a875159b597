// SPDX-License-Identifier: Apache-2.0
// A word of 128 bits that several processes change. In assembly, because compilers call libatomic
// for it, which takes a lock. A killed process would keep that lock.
#pragma once

#include <cstdint>

#include "limiter/contract.h"

namespace tessera::limiter {

// A snapshot of both halves. The halves can differ in time only if the upper one left and returned
// to the same value between the loads. It counts operations, so that is rare; and callers use the
// snapshot only for a CompareAndSwap() of the whole word, which then fails.
inline TotalWord Read(const TotalWord& word) {
  for (;;) {
    const uint64_t high = __atomic_load_n(&word.high, __ATOMIC_ACQUIRE);
    const uint64_t low = __atomic_load_n(&word.low, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&word.high, __ATOMIC_RELAXED) == high) return {low, high};
  }
}

inline bool CompareAndSwap(TotalWord* word, const TotalWord& expected, const TotalWord& desired) {
#if defined(__x86_64__)
  uint64_t low = expected.low;
  uint64_t high = expected.high;
  bool swapped;
  asm volatile("lock cmpxchg16b %1"
               : "=@ccz"(swapped), "+m"(*word), "+a"(low), "+d"(high)
               : "b"(desired.low), "c"(desired.high)
               : "memory");
  return swapped;
#elif defined(__aarch64__)
  uint64_t low;
  uint64_t high;
  uint32_t failed;
  // On a mismatch the value read is stored back: only a successful store proves that both halves
  // were read at one moment.
  asm volatile(
      "1: ldaxp %0, %1, %3\n"
      "   cmp %0, %4\n"
      "   ccmp %1, %5, #0, eq\n"
      "   b.ne 2f\n"
      "   stlxp %w2, %6, %7, %3\n"
      "   cbnz %w2, 1b\n"
      "   b 3f\n"
      "2: stlxp %w2, %0, %1, %3\n"
      "   cbnz %w2, 1b\n"
      "3:"
      : "=&r"(low), "=&r"(high), "=&r"(failed), "+Q"(*word)
      : "r"(expected.low), "r"(expected.high), "r"(desired.low), "r"(desired.high)
      : "cc", "memory");
  return low == expected.low && high == expected.high;
#else
#error "another processor: a compare-and-swap of 128 bits is needed here"
#endif
}

}  // namespace tessera::limiter
