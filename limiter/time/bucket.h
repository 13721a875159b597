// SPDX-License-Identifier: Apache-2.0
// A container's share of a device's time: a bucket of ns, in the region. Time fills it, and
// launches take from it. All processes of the container use it, any thread. Each change is one
// compare-and-swap, so a killed process leaves no partial change and no process waits for another.
#pragma once

#include <cstdint>

#include "limiter/contract.h"

namespace tessera::limiter {

// The bucket's lower word: the ns left, and above them the mark of the last flight that was
// charged. Take() and Correct() keep the mark.
inline constexpr int kLeftBits = 40;
inline int64_t LeftIn(const TotalWord& bucket) {
  return static_cast<int64_t>(bucket.low << (64 - kLeftBits)) >> (64 - kLeftBits);
}
inline uint64_t MarkIn(const TotalWord& bucket) {
  return bucket.low >> kLeftBits;
}

// ns. The most that the bucket saves up. For a launch of a higher cost it saves that cost, up to
// kLongBurst.
inline constexpr int64_t kBurst = 15'000'000;
inline constexpr int64_t kLongBurst = 100'000'000;
// ns. Debt beyond it is dropped.
inline constexpr int64_t kMostOwed = 500'000'000'000;
static_assert(kMostOwed < int64_t{1} << (kLeftBits - 1));

// Takes `cost` if nothing is owed, counts it as used, and returns 0. The cost may exceed the
// bucket; the rest is then owed. If something is owed, takes nothing and returns the ns until the
// debt is gone. `now`: monotonic clock; percent: 1 to 99; `saved`: ns that may be saved up in
// addition.
uint64_t Take(TimeAccounting* accounting, uint64_t now, uint32_t percent, int64_t cost,
              int64_t saved = 0);

// Corrects a former taking: the run cost `more` than the `cost` that was taken, or less if
// negative.
void Correct(TimeAccounting* accounting, uint64_t now, uint32_t percent, int64_t more,
             int64_t cost = 0, int64_t saved = 0);

// Correct() for a flight that began at `since`. Charge and mark go into the bucket in one exchange,
// so a kill leaves both or neither. False: the bucket has changed since `seen`.
bool CorrectOnce(TimeAccounting* accounting, const TotalWord& seen, uint64_t since,
                 uint32_t percent, int64_t more, uint64_t mark);

// ns of a busy interval that are not charged yet. Work that runs at the same time, or waits for
// other work, is charged once. The interval is on the monotonic clock and lies before `now`.
uint64_t NewlyBusy(TimeAccounting* accounting, uint64_t now, uint64_t start, uint64_t end);

}  // namespace tessera::limiter
