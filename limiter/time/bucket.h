// SPDX-License-Identifier: Apache-2.0
// A container's share of a device's time: a bucket of ns that fills as time goes by and that what
// runs is taken from. In the region, for all processes; any thread. One compare-and-swap each: a
// process that is killed leaves nothing half done, and nobody waits for another.
#pragma once

#include <cstdint>

#include "limiter/contract.h"

namespace tessera::limiter {

// The bucket's lower word: what is left, and above it a mark that takings pass on.
inline constexpr int kLeftBits = 40;
inline int64_t LeftIn(const TotalWord& bucket) {
  return static_cast<int64_t>(bucket.low << (64 - kLeftBits)) >> (64 - kLeftBits);
}
inline uint64_t MarkIn(const TotalWord& bucket) {
  return bucket.low >> kLeftBits;
}

// The most that is saved up: ns; and for a launch that takes more that, but no more than
// kLongBurst.
inline constexpr int64_t kBurst = 15'000'000;
inline constexpr int64_t kLongBurst = 100'000'000;
// More is forgotten; ns.
inline constexpr int64_t kMostOwed = 500'000'000'000;
static_assert(kMostOwed < int64_t{1} << (kLeftBits - 1));

// Takes `cost` if nothing is owed, and counts it as used; it may be more than there is, and is then
// owed. Else the ns until nothing is. `now`: of the monotonic clock; percent: 1 to 99; `saved`: so
// much more may be saved up.
uint64_t Take(TimeAccounting* accounting, uint64_t now, uint32_t percent, int64_t cost,
              int64_t saved = 0);

// What ran cost so much more than `cost`, which was taken, or less.
void Correct(TimeAccounting* accounting, uint64_t now, uint32_t percent, int64_t more,
             int64_t cost = 0, int64_t saved = 0);

// As Correct(), of what began at `since`, and the mark of it is left: both, or neither. False: the
// bucket is not as it was seen any more.
bool CorrectOnce(TimeAccounting* accounting, const TotalWord& seen, uint64_t since,
                 uint32_t percent, int64_t more, uint64_t mark);

// ns of an interval in which the device was busy, without those that another one had already: what
// runs at the same time, or waits for the other, is charged once. The interval is of the monotonic
// clock and lies before `now`.
uint64_t NewlyBusy(TimeAccounting* accounting, uint64_t now, uint64_t start, uint64_t end);

}  // namespace tessera::limiter
