// SPDX-License-Identifier: Apache-2.0
// Memory that a process hands to another one. It is counted for who made it as long as that one has
// it. Who gives it up while somebody else has it lends it: it leaves its share and is counted as
// lent, which is the container's until the last of those who imported it is seen to give it up.
//
// Nobody can be asked who has what. So what is lent is bounded: it is no more than what living
// processes have imported, and what living ones lent while a descriptor may have been all that had
// it. Whatever was lent too much falls away with that. Any process, any thread; nobody waits.
#pragma once

#include "limiter/contract.h"

namespace tessera::limiter {

// Adds to a word of a process's own, or takes away, at most what is there.
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
// What can be lent at most, by all processes but that of a slot; kLentSlot: by all.
uint64_t MostLent(const Accounting& accounting, int device, uint32_t but);
// Calls under way that give up memory that others may have.
uint64_t Partings(const Accounting& accounting, int device);
// Whether they gave up what they did not see to come free; how much, and from now on nothing.
bool IsDoubtful(const Accounting& accounting, int device);
uint64_t TakeDoubtful(Accounting* accounting, int device);
// What living and dead processes have exported, and what is lent.
uint64_t Known(const Accounting& accounting, int device);

// How much of so many units that somebody gives up can be lent.
uint64_t Lendable(const Accounting& accounting, int device, uint64_t units, uint32_t but);
// So much of a slot's share is. Units that were lent.
uint64_t Lend(Accounting* accounting, int device, uint32_t slot, uint64_t units, uint32_t but);
// What is lent and cannot be is free.
void SettleLent(Accounting* accounting, int device);
// The process of a slot has ended, and its share is still there: what others can have of it is
// lent. Once it is not there any more its words are to be cleared.
void LendOfTheDead(Accounting* accounting, int device, uint32_t slot);
void ClearLending(Accounting* accounting, int device, uint32_t slot);

}  // namespace tessera::limiter
