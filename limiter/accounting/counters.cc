// SPDX-License-Identifier: Apache-2.0
#include "limiter/accounting/counters.h"

#include "limiter/accounting/wide.h"

namespace tessera::limiter {

bool IsStill(const TotalWord& word, const Accounting& accounting, int device) {
  const TotalWord now = Read(accounting.devices[device].total);
  return now.low == word.low && now.high == word.high;
}

namespace {

constexpr uint32_t kSequenceMask = (1u << 28) - 1;
constexpr uint32_t kSlotMask = kMaxSlots - 1;
constexpr uint32_t kCountMask = (1u << 15) - 1;
// Lock-free: each failed attempt means that another thread's operation succeeded. Only a corrupt
// region can exhaust the attempts.
constexpr int kAttempts = 1 << 20;

enum class Operation : uint32_t {
  kShare,    // changes a share
  kLent,     // changes what is lent
  kLending,  // takes from a share what is lent then
};

struct Total {
  uint64_t amount;
  uint32_t sequence;
  int64_t change;
  uint32_t slot;
  Operation operation;
  uint32_t count;
};

struct Share {
  uint64_t amount;
  uint32_t sequence;
};

Total Unpack(const TotalWord& word) {
  return {word.low & kMaxUnits,
          static_cast<uint32_t>(word.low >> 36),
          static_cast<int64_t>(word.high << 27) >> 27,
          static_cast<uint32_t>(word.high >> 37) & kSlotMask,
          static_cast<Operation>(word.high >> 47 & 3),
          static_cast<uint32_t>(word.high >> 49)};
}

TotalWord Pack(const Total& total) {
  constexpr uint64_t kChangeMask = (uint64_t{1} << 37) - 1;
  return {total.amount | uint64_t{total.sequence} << 36,
          (static_cast<uint64_t>(total.change) & kChangeMask) | uint64_t{total.slot} << 37 |
              uint64_t{static_cast<uint32_t>(total.operation)} << 47 | uint64_t{total.count} << 49};
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

ShareWord* ShareAt(Accounting* accounting, int device, uint32_t slot) {
  return slot < kMaxSlots ? &accounting->slots[slot].share[device]
                          : &accounting->devices[device].lent;
}

// The sequence of the lent word after an operation. For kLending it is derived from the share's
// sequence and slot, so that it differs from the last one.
uint32_t LentSequence(const Total& total) {
  if (total.operation == Operation::kLent) return total.sequence;
  return (total.sequence + total.slot * 0x51ed27u) & kSequenceMask;
}

// The lent word's sequence is not consecutive, so it cannot show whether this operation is still
// due. Hence the order: read the lent word, then check that the total still records this operation.
// The final exchange fails if another process completed it in between.
[[gnu::noinline, gnu::cold]] void CompleteLent(Accounting* accounting, int device,
                                               const TotalWord& word) {
  const Total total = Unpack(word);
  ShareWord* const at = &accounting->devices[device].lent;
  const ShareWord seen = Load(*at);
  const Share lent = UnpackShare(seen);
  const uint32_t sequence = LentSequence(total);
  if (lent.sequence == sequence || !IsStill(word, *accounting, device)) return;
  const int64_t change = total.operation == Operation::kLent ? total.change : -total.change;
  Swap(at, seen, PackShare({Changed(lent.amount, change), sequence}));
}

// Completes the operation that a total records. Any process may do so, and several may race: the
// exchange of the share lets exactly one succeed. A share's sequence only ever advances by one. A
// sequence of one less than the record's therefore means that this operation is due and no later
// one began.
inline void Complete(Accounting* accounting, int device, const TotalWord& word) {
  const Total total = Unpack(word);
  // The lent word comes first. The share's sequence marks the whole operation as complete.
  if (total.operation != Operation::kShare) [[unlikely]]
    CompleteLent(accounting, device, word);
  if (total.operation == Operation::kLent) [[unlikely]]
    return;
  ShareWord* const at = &accounting->slots[total.slot].share[device];
  const ShareWord seen = Load(*at);
  const Share share = UnpackShare(seen);
  if (share.sequence == total.sequence) return;
  if (((share.sequence + 1) & kSequenceMask) == total.sequence) {
    Swap(at, seen, PackShare({Changed(share.amount, total.change), total.sequence}));
    return;
  }
  // Usually the total has moved on since it was read, and there is no work left. If it has not, the
  // share was not written by this library; its amount is accepted with the record's sequence.
  if (IsStill(word, *accounting, device)) Swap(at, seen, PackShare({share.amount, total.sequence}));
}

// Publishes an operation: once the total holds it, it counts, even if this process is killed before
// Complete(). A failed exchange has changed nothing.
inline bool Put(const TotalWord& seen, const Total& next, Accounting* accounting, int device) {
  const TotalWord word = Pack(next);
  if (!CompareAndSwap(&accounting->devices[device].total, seen, word)) return false;
  Complete(accounting, device, word);
  return true;
}

// One attempt, with `seen` as the total. kNoUse: the total has changed since.
inline MoveResult TryMove(const TotalWord& seen, Accounting* accounting, int device, uint32_t slot,
                          int64_t units, uint64_t limit) {
  Complete(accounting, device, seen);
  const Total total = Unpack(seen);
  const Share share = UnpackShare(Load(*ShareAt(accounting, device, slot)));
  int64_t change = units;
  if (units < 0) {
    const uint64_t most = share.amount < total.amount ? share.amount : total.amount;
    if (static_cast<uint64_t>(-units) > most) change = -static_cast<int64_t>(most);
  } else if (static_cast<uint64_t>(units) > limit ||
             total.amount > limit - static_cast<uint64_t>(units)) {
    return MoveResult::kPastLimit;
  }
  const bool is_lent = slot >= kMaxSlots;
  const Total next{.amount = Changed(total.amount, change),
                   .sequence = (share.sequence + 1) & kSequenceMask,
                   .change = change,
                   .slot = is_lent ? 0 : slot,
                   .operation = is_lent ? Operation::kLent : Operation::kShare,
                   .count = (total.count + 1) & kCountMask};
  return Put(seen, next, accounting, device) ? MoveResult::kDone : MoveResult::kNoUse;
}

}  // namespace

MoveResult Move(Accounting* accounting, int device, uint32_t slot, int64_t units, uint64_t limit) {
  for (int i = 0; i < kAttempts; ++i) {
    // The retry loop of the lock-free total: read, complete the last operation, exchange.
    const MoveResult moved =
        TryMove(Read(accounting->devices[device].total), accounting, device, slot, units, limit);
    if (moved != MoveResult::kNoUse) return moved;
  }
  return MoveResult::kNoUse;
}

TotalWord TotalNow(const Accounting& accounting, int device) {
  return Read(accounting.devices[device].total);
}

uint64_t AmountOf(const TotalWord& total) {
  return Unpack(total).amount;
}

bool MoveSince(const TotalWord& seen, Accounting* accounting, int device, uint32_t slot,
               int64_t units) {
  return TryMove(seen, accounting, device, slot, units, kMaxUnits) != MoveResult::kNoUse;
}

bool LendSince(const TotalWord& seen, Accounting* accounting, int device, uint32_t slot,
               uint64_t units) {
  Complete(accounting, device, seen);
  const Total total = Unpack(seen);
  const Share share = UnpackShare(Load(accounting->slots[slot].share[device]));
  const uint64_t lent = units < share.amount ? units : share.amount;
  const Total next{.amount = total.amount,
                   .sequence = (share.sequence + 1) & kSequenceMask,
                   .change = -static_cast<int64_t>(lent),
                   .slot = slot,
                   .operation = Operation::kLending,
                   .count = (total.count + 1) & kCountMask};
  // With a chance of one in 2^28 this operation has the same sequence as the last one and would
  // count as complete. An empty operation first changes the share's sequence.
  if (UnpackShare(Load(accounting->devices[device].lent)).sequence == LentSequence(next)) {
    MoveSince(seen, accounting, device, slot, 0);
    return false;
  }
  return Put(seen, next, accounting, device);
}

uint64_t TotalOf(const Accounting& accounting, int device) {
  return __atomic_load_n(&accounting.devices[device].total.low, __ATOMIC_RELAXED) & kMaxUnits;
}

uint64_t ShareOf(Accounting* accounting, int device, uint32_t slot) {
  Complete(accounting, device, Read(accounting->devices[device].total));
  return UnpackShare(Load(*ShareAt(accounting, device, slot))).amount;
}

}  // namespace tessera::limiter
