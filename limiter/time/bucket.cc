// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/bucket.h"

#include "limiter/accounting/wide.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kAhead = 1'000'000'000;  // ns; a time so far ahead is from another boot

struct Bucket {
  int64_t left;
  uint64_t filled_at;
  uint64_t mark;
};

// A container that waits for another one's long kernel saves up its share of that time.
int64_t MostSaved(int64_t cost) {
  if (cost <= kBurst) return kBurst;
  return cost < kLongBurst ? cost : kLongBurst;
}

// The bucket at `now`; `most`: the ns that may be saved up.
Bucket Filled(const TotalWord& word, uint64_t now, uint32_t percent, int64_t most) {
  Bucket bucket{LeftIn(word), word.high, MarkIn(word)};
  if (bucket.left > most) bucket.left = most;
  if (bucket.left < -kMostOwed) bucket.left = -kMostOwed;
  if (bucket.filled_at > now) {
    if (bucket.filled_at - now > kAhead) bucket.filled_at = now;
    return bucket;
  }
  const uint64_t passed = now - bucket.filled_at;
  const auto to_full = static_cast<uint64_t>(most - bucket.left);
  // Avoids an overflow: even at one percent the bucket is full after a hundred times as long.
  const uint64_t gained = passed / 100 < to_full ? passed * percent / 100 : to_full;
  bucket.left += static_cast<int64_t>(gained < to_full ? gained : to_full);
  bucket.filled_at = now;
  return bucket;
}

// `taken` may come from the region, and so be any number.
int64_t LeftAfter(int64_t left, int64_t taken) {
  int64_t rest = 0;
  if (__builtin_sub_overflow(left, taken, &rest)) rest = taken > 0 ? -kMostOwed : kMostOwed;
  if (rest < -kMostOwed) return -kMostOwed;
  return rest < kMostOwed ? rest : kMostOwed;
}

bool Swap(TimeAccounting* accounting, const TotalWord& seen, const Bucket& bucket) {
  constexpr uint64_t kMask = (uint64_t{1} << kLeftBits) - 1;
  return CompareAndSwap(
      &accounting->bucket, seen,
      {(static_cast<uint64_t>(bucket.left) & kMask) | bucket.mark << kLeftBits, bucket.filled_at});
}

}  // namespace

uint64_t Take(TimeAccounting* accounting, uint64_t now, uint32_t percent, int64_t cost,
              int64_t saved) {
  for (;;) {
    const TotalWord seen = Read(accounting->bucket);
    Bucket bucket = Filled(seen, now, percent, MostSaved(cost) + saved);
    if (bucket.left < 0) {
      // The time was of another boot: the bucket fills from now on.
      if (bucket.filled_at < seen.high && !Swap(accounting, seen, bucket)) continue;
      return static_cast<uint64_t>(-bucket.left) * 100 / percent + 1;
    }
    bucket.left = LeftAfter(bucket.left, cost);
    if (!Swap(accounting, seen, bucket)) continue;
    // A kill before this step loses only the addition to `used`.
    __atomic_fetch_add(&accounting->used, static_cast<uint64_t>(cost), __ATOMIC_RELAXED);
    return 0;
  }
}

void Correct(TimeAccounting* accounting, uint64_t now, uint32_t percent, int64_t more, int64_t cost,
             int64_t saved) {
  for (;;) {
    const TotalWord seen = Read(accounting->bucket);
    Bucket bucket = Filled(seen, now, percent, MostSaved(cost) + saved);
    bucket.left = LeftAfter(bucket.left, more);
    if (!Swap(accounting, seen, bucket)) continue;
    __atomic_fetch_add(&accounting->used, static_cast<uint64_t>(more), __ATOMIC_RELAXED);
    return;
  }
}

bool CorrectOnce(TimeAccounting* accounting, const TotalWord& seen, uint64_t since,
                 uint32_t percent, int64_t more, uint64_t mark) {
  Bucket bucket = Filled(seen, since > seen.high ? since : seen.high, percent, kBurst);
  bucket.left = LeftAfter(bucket.left, more);
  bucket.mark = mark;
  if (!Swap(accounting, seen, bucket)) return false;
  __atomic_fetch_add(&accounting->used, static_cast<uint64_t>(more), __ATOMIC_RELAXED);
  return true;
}

uint64_t NewlyBusy(TimeAccounting* accounting, uint64_t now, uint64_t start, uint64_t end) {
  if (end > now) end = now;
  uint64_t seen = __atomic_load_n(&accounting->busy_end, __ATOMIC_RELAXED);
  for (;;) {
    // A time in the future was written by another boot.
    const uint64_t charged = seen > now + kAhead ? 0 : seen;
    const uint64_t from = start > charged ? start : charged;
    if (end <= from) return 0;
    if (__atomic_compare_exchange_n(&accounting->busy_end, &seen, end, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      return end - from;
    }
  }
}

}  // namespace tessera::limiter
