// SPDX-License-Identifier: Apache-2.0
#include "limiter/books/counters.h"

#include "limiter/books/wide.h"

namespace tessera::limiter {
namespace {

constexpr uint32_t kSequenceMask = (1u << 28) - 1;
constexpr uint32_t kSlotMask = kMaxSlots - 1;
constexpr uint32_t kCountMask = (1u << 17) - 1;
// Each failure means that somebody else succeeded, in books that are some.
constexpr int kAttempts = 1 << 20;

struct Total {
  uint64_t amount;
  uint32_t sequence;
  int64_t change;
  uint32_t slot;
  uint32_t count;
};

struct Share {
  uint64_t amount;
  uint32_t sequence;
};

Total Unpack(const TotalWord& word) {
  return {word.low & kMaxUnits, static_cast<uint32_t>(word.low >> 36),
          static_cast<int64_t>(word.high << 27) >> 27,
          static_cast<uint32_t>(word.high >> 37) & kSlotMask,
          static_cast<uint32_t>(word.high >> 47)};
}

TotalWord Pack(const Total& total) {
  constexpr uint64_t kChangeMask = (uint64_t{1} << 37) - 1;
  return {total.amount | uint64_t{total.sequence} << 36,
          (static_cast<uint64_t>(total.change) & kChangeMask) | uint64_t{total.slot} << 37 |
              uint64_t{total.count} << 47};
}

Share UnpackShare(ShareWord word) {
  return {word & kMaxUnits, static_cast<uint32_t>(word >> 36)};
}
ShareWord PackShare(const Share& share) {
  return share.amount | uint64_t{share.sequence} << 36;
}

uint64_t Changed(uint64_t amount, int64_t change) {
  const int64_t sum = static_cast<int64_t>(amount) + change;
  if (sum < 0) return 0;
  return sum > static_cast<int64_t>(kMaxUnits) ? kMaxUnits : static_cast<uint64_t>(sum);
}

ShareWord Load(const ShareWord& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

bool Swap(ShareWord* word, ShareWord expected, ShareWord desired) {
  return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

// Completes the operation that a total tells of. A share only ever goes on to the next sequence, so
// one that is right before it has not been completed, and nobody began another.
void Complete(Books* books, int device, const TotalWord& word) {
  const Total total = Unpack(word);
  ShareWord* const at = &books->slots[total.slot].share[device];
  const ShareWord seen = Load(*at);
  const Share share = UnpackShare(seen);
  if (share.sequence == total.sequence) return;
  if (((share.sequence + 1) & kSequenceMask) == total.sequence) {
    Swap(at, seen, PackShare({Changed(share.amount, total.change), total.sequence}));
    return;
  }
  // The total has moved on since it was read. If not, this was never written by us: taken as it is.
  const TotalWord now = Read(books->devices[device].total);
  if (now.low == word.low && now.high == word.high) {
    Swap(at, seen, PackShare({share.amount, total.sequence}));
  }
}

}  // namespace

Moved Move(Books* books, int device, uint32_t slot, int64_t units, uint64_t limit) {
  TotalWord* const word = &books->devices[device].total;
  for (int i = 0; i < kAttempts; ++i) {
    const TotalWord seen = Read(*word);
    Complete(books, device, seen);
    const Total total = Unpack(seen);
    const Share share = UnpackShare(Load(books->slots[slot].share[device]));
    int64_t change = units;
    if (units < 0) {
      const uint64_t most = share.amount < total.amount ? share.amount : total.amount;
      if (static_cast<uint64_t>(-units) > most) change = -static_cast<int64_t>(most);
    } else if (static_cast<uint64_t>(units) > limit ||
               total.amount > limit - static_cast<uint64_t>(units)) {
      return Moved::kPastLimit;
    }
    const TotalWord next =
        Pack({Changed(total.amount, change), (share.sequence + 1) & kSequenceMask, change, slot,
              (total.count + 1) & kCountMask});
    if (!CompareAndSwap(word, seen, next)) continue;
    Complete(books, device, next);
    return Moved::kDone;
  }
  return Moved::kNoUse;
}

uint64_t TotalOf(const Books& books, int device) {
  return __atomic_load_n(&books.devices[device].total.low, __ATOMIC_RELAXED) & kMaxUnits;
}

uint64_t ShareOf(Books* books, int device, uint32_t slot) {
  Complete(books, device, Read(books->devices[device].total));
  return UnpackShare(Load(books->slots[slot].share[device])).amount;
}

}  // namespace tessera::limiter
