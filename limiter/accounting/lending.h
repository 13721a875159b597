// SPDX-License-Identifier: Apache-2.0
// Memory that processes of the container share. It is counted for the process that made it, as long
// as that process holds it. If the maker gives it up while another process holds it, the maker
// lends it. It then leaves the maker's share and is counted as lent, for the container, until the
// last importer is seen to release it.
//
// No call reports which processes hold an allocation. So lent memory is bounded instead. It never
// exceeds two sums: the imports of living processes, and the memory that living ones lent while
// perhaps only a descriptor held it. When the bound falls, the excess is released. Any process, any
// thread; no call waits.
#pragma once

#include "limiter/contract.h"

namespace tessera::limiter {

// Adds to a word of a process's own, or subtracts, at most its value.
template <typename T>
void AddTo(T* word, T more) {
  __atomic_fetch_add(word, more, __ATOMIC_ACQ_REL);
}
template <typename T>
void TakeFrom(T* word, T less) {
  T seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(word, &seen, seen > less ? seen - less : 0, false,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
}

// All in units (accounting/counters.h).
uint64_t LentOf(const Accounting& accounting, int device);
// The bound on lent memory, from all processes except that of slot `but`; kLentSlot: from all.
uint64_t MostLent(const Accounting& accounting, int device, uint32_t but);
// Calls under way that give up memory which other processes may hold.
uint64_t Partings(const Accounting& accounting, int device);
// Doubtful memory was given up, but its release was not seen in the driver's free memory.
// TakeDoubtful() returns the amount and resets it to none.
bool IsDoubtful(const Accounting& accounting, int device);
uint64_t TakeDoubtful(Accounting* accounting, int device);
// Exports of living and dead processes, plus the lent memory.
uint64_t Known(const Accounting& accounting, int device);

// How many of the given-up units the bound allows to lend.
uint64_t Lendable(const Accounting& accounting, int device, uint64_t units, uint32_t but);
// Moves up to `units` from a slot's share to the lent memory. Returns the units that moved.
uint64_t Lend(Accounting* accounting, int device, uint32_t slot, uint64_t units, uint32_t but);
// Releases lent memory beyond the bound.
void SettleLent(Accounting* accounting, int device);
// For the claimer of a dead process's slot. LendOfTheDead() lends the part of its share that others
// may hold. ClearLending() comes after the rest of the share is released: the first step reads the
// words that it clears.
void LendOfTheDead(Accounting* accounting, int device, uint32_t slot);
void ClearLending(Accounting* accounting, int device, uint32_t slot);

}  // namespace tessera::limiter
