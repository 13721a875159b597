// SPDX-License-Identifier: Apache-2.0
#include "limiter/accounting/lending.h"

#include "limiter/accounting/counters.h"

namespace tessera::limiter {
namespace {

// Each failed attempt means that another operation succeeded, in accounting that is intact.
constexpr int kAttempts = 1 << 12;

template <typename T>
T Load(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

// From a word that any process may have written.
uint64_t UnitsIn(const uint64_t& word) {
  const uint64_t bytes = Load(word);
  return bytes < kMaxBytes ? UnitsOf(bytes) : kMaxUnits;
}

uint64_t Sum(uint64_t one, uint64_t other) {
  return one > kMaxUnits - other ? kMaxUnits : one + other;
}

// A process that is alone uses slot 0 and raises no slots_used.
uint32_t SlotsOf(const Accounting& accounting) {
  const uint32_t used = __atomic_load_n(&accounting.slots_used, __ATOMIC_ACQUIRE);
  return used == 0 ? 1 : used < kMaxSlots ? used : kMaxSlots;
}

}  // namespace

uint64_t LentOf(const Accounting& accounting, int device) {
  return Load(accounting.devices[device].lent) & kMaxUnits;
}

uint64_t MostLent(const Accounting& accounting, int device, uint32_t but) {
  uint64_t most = 0;
  for (uint32_t slot = 0; slot < SlotsOf(accounting); ++slot) {
    if (slot == but) continue;
    const Lending& lending = accounting.lendings[slot][device];
    if (Load(lending.unsized) != 0) return kMaxUnits;
    most = Sum(most, Sum(UnitsIn(lending.imported), UnitsIn(lending.kept)));
  }
  return most;
}

uint64_t Known(const Accounting& accounting, int device) {
  uint64_t known = LentOf(accounting, device);
  for (uint32_t slot = 0; slot < SlotsOf(accounting); ++slot) {
    known = Sum(known, UnitsIn(accounting.lendings[slot][device].exported));
  }
  return known;
}

uint64_t Partings(const Accounting& accounting, int device) {
  uint64_t partings = 0;
  for (uint32_t slot = 0; slot < SlotsOf(accounting); ++slot) {
    partings += Load(accounting.lendings[slot][device].parting);
  }
  return partings;
}

bool IsDoubtful(const Accounting& accounting, int device) {
  bool is_doubtful = false;
  for (uint32_t slot = 0; slot < SlotsOf(accounting) && !is_doubtful; ++slot) {
    is_doubtful = Load(accounting.lendings[slot][device].doubtful) != 0;
  }
  return is_doubtful;
}

uint64_t TakeDoubtful(Accounting* accounting, int device) {
  uint64_t units = 0;
  for (uint32_t slot = 0; slot < SlotsOf(*accounting); ++slot) {
    uint64_t* const word = &accounting->lendings[slot][device].doubtful;
    if (Load(*word) == 0) continue;
    const uint64_t bytes = __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL);
    units = Sum(units, UnitsIn(bytes));
  }
  return units;
}

uint64_t Lendable(const Accounting& accounting, int device, uint64_t units, uint32_t but) {
  const uint64_t most = MostLent(accounting, device, but);
  const uint64_t lent = LentOf(accounting, device);
  const uint64_t room = most > lent ? most - lent : 0;
  return units < room ? units : room;
}

uint64_t Lend(Accounting* accounting, int device, uint32_t slot, uint64_t units, uint32_t but) {
  for (int i = 0; i < kAttempts; ++i) {
    const TotalWord now = TotalNow(*accounting, device);
    const uint64_t more = Lendable(*accounting, device, units, but);
    if (more == 0 || LendSince(now, accounting, device, slot, more)) return more;
  }
  return 0;
}

void SettleLent(Accounting* accounting, int device) {
  const uint64_t* const imports = &accounting->devices[device].imports;
  for (int i = 0; i < 4; ++i) {
    const TotalWord now = TotalNow(*accounting, device);
    const uint64_t lent = ShareOf(accounting, device, kLentSlot);
    if (lent == 0) return;
    const uint64_t begun = Load(*imports);
    const uint64_t most = MostLent(*accounting, device, kLentSlot);
    if (lent <= most) return;
    const auto more = static_cast<int64_t>(lent - most);
    if (Load(*imports) != begun) continue;
    if (!MoveSince(now, accounting, device, kLentSlot, -more)) continue;
    if (Load(*imports) == begun) return;
    // An import that began in between relied on this memory being lent: put it back. Importers
    // raise `imports` first, so that the count shows them.
    Move(accounting, device, kLentSlot, more, kMaxUnits);
  }
}

void LendOfTheDead(Accounting* accounting, int device, uint32_t slot) {
  const uint64_t exported = UnitsIn(accounting->lendings[slot][device].exported);
  if (exported == 0) return;
  const uint64_t share = ShareOf(accounting, device, slot);
  Lend(accounting, device, slot, exported < share ? exported : share, slot);
}

void ClearLending(Accounting* accounting, int device, uint32_t slot) {
  accounting->lendings[slot][device] = {};
  if (LentOf(*accounting, device) != 0) SettleLent(accounting, device);
}

}  // namespace tessera::limiter
