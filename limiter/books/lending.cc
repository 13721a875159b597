// SPDX-License-Identifier: Apache-2.0
#include "limiter/books/lending.h"

#include "limiter/books/counters.h"

namespace tessera::limiter {
namespace {

// Each failure means that something else was counted meanwhile, in books that are some.
constexpr int kAttempts = 1 << 12;

template <typename T>
T Load(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

// Of a word that anybody may have written.
uint64_t UnitsIn(const uint64_t& word) {
  const uint64_t bytes = Load(word);
  return bytes < kMaxBytes ? UnitsOf(bytes) : kMaxUnits;
}

uint64_t Sum(uint64_t one, uint64_t other) {
  return one > kMaxUnits - other ? kMaxUnits : one + other;
}

// Alone, nobody has ever used a slot but the first.
uint32_t SlotsOf(const Books& books) {
  const uint32_t used = __atomic_load_n(&books.slots_used, __ATOMIC_ACQUIRE);
  return used == 0 ? 1 : used < kMaxSlots ? used : kMaxSlots;
}

}  // namespace

uint64_t LentOf(const Books& books, int device) {
  return Load(books.devices[device].lent) & kMaxUnits;
}

uint64_t MostLent(const Books& books, int device, uint32_t but) {
  uint64_t most = 0;
  for (uint32_t slot = 0; slot < SlotsOf(books); ++slot) {
    if (slot == but) continue;
    const Lending& lending = books.lendings[slot][device];
    if (Load(lending.unsized) != 0) return kMaxUnits;
    most = Sum(most, Sum(UnitsIn(lending.imported), UnitsIn(lending.kept)));
  }
  return most;
}

uint64_t Known(const Books& books, int device) {
  uint64_t known = LentOf(books, device);
  for (uint32_t slot = 0; slot < SlotsOf(books); ++slot) {
    known = Sum(known, UnitsIn(books.lendings[slot][device].exported));
  }
  return known;
}

uint64_t Partings(const Books& books, int device) {
  uint64_t partings = 0;
  for (uint32_t slot = 0; slot < SlotsOf(books); ++slot) {
    partings += Load(books.lendings[slot][device].parting);
  }
  return partings;
}

bool IsDoubtful(const Books& books, int device) {
  bool is_doubtful = false;
  for (uint32_t slot = 0; slot < SlotsOf(books) && !is_doubtful; ++slot) {
    is_doubtful = Load(books.lendings[slot][device].doubtful) != 0;
  }
  return is_doubtful;
}

uint64_t TakeDoubtful(Books* books, int device) {
  uint64_t units = 0;
  for (uint32_t slot = 0; slot < SlotsOf(*books); ++slot) {
    uint64_t* const word = &books->lendings[slot][device].doubtful;
    if (Load(*word) == 0) continue;
    const uint64_t bytes = __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL);
    units = Sum(units, UnitsIn(bytes));
  }
  return units;
}

uint64_t Lendable(const Books& books, int device, uint64_t units, uint32_t but) {
  const uint64_t most = MostLent(books, device, but);
  const uint64_t lent = LentOf(books, device);
  const uint64_t room = most > lent ? most - lent : 0;
  return units < room ? units : room;
}

uint64_t Lend(Books* books, int device, uint32_t slot, uint64_t units, uint32_t but) {
  for (int i = 0; i < kAttempts; ++i) {
    const TotalWord now = TotalNow(*books, device);
    const uint64_t more = Lendable(*books, device, units, but);
    if (more == 0 || LendSince(now, books, device, slot, more)) return more;
  }
  return 0;
}

void SettleLent(Books* books, int device) {
  const uint64_t* const imports = &books->devices[device].imports;
  for (int i = 0; i < 4; ++i) {
    const TotalWord now = TotalNow(*books, device);
    const uint64_t lent = ShareOf(books, device, kLentSlot);
    if (lent == 0) return;
    const uint64_t begun = Load(*imports);
    const uint64_t most = MostLent(*books, device, kLentSlot);
    if (lent <= most) return;
    const auto more = static_cast<int64_t>(lent - most);
    if (Load(*imports) != begun) continue;
    if (!MoveSince(now, books, device, kLentSlot, -more)) continue;
    if (Load(*imports) == begun) return;
    // Who began to import meanwhile took it for lent.
    Move(books, device, kLentSlot, more, kMaxUnits);
  }
}

void LendOfTheDead(Books* books, int device, uint32_t slot) {
  const uint64_t exported = UnitsIn(books->lendings[slot][device].exported);
  if (exported == 0) return;
  const uint64_t share = ShareOf(books, device, slot);
  Lend(books, device, slot, exported < share ? exported : share, slot);
}

void ClearLending(Books* books, int device, uint32_t slot) {
  books->lendings[slot][device] = {};
  if (LentOf(*books, device) != 0) SettleLent(books, device);
}

}  // namespace tessera::limiter
