// SPDX-License-Identifier: Apache-2.0
// The slots of a container's processes in its region. A slot never moves. Only its owner begins
// operations on it; any process may complete the last one.
//
// After the owner's death another process claims the slot and gives back what it held. One process
// at a time can claim it. If that one is killed over it, the next one continues; if it is stopped,
// the memory stays counted until it goes on or ends.
#pragma once

#include "limiter/accounting/locks.h"
#include "limiter/contract.h"

namespace tessera::limiter {

// Takes a slot for this process, after it has reaped all dead ones; -1: none is free. The caller
// keeps the claim with locks->Keep().
int TakeSlot(Region* region, uint64_t identity, Locks* locks);

// Gives back what dead processes held. Looks at `most` taken slots at most, from where the last
// search ended; skips `own`. Returns the number of slots reaped.
int ReapDead(Region* region, int own, int most, Locks* locks);

// Charges a slot's unmeasured launches, and removes it from HAMi's view. A process calls it when it
// begins to end. Its memory stays counted.
void Retire(Region* region, uint32_t slot);
// Retires a slot and gives back what it holds on every device. Only for its claimer.
void Empty(Region* region, uint32_t slot);

// Notes that a process of the region died just now.
void NoteDeath(Region* region);

// Updates HAMi's view of a slot's memory on a device.
void Mirror(Region* region, uint32_t slot, int device);

// Raises a word of the region to at least `value`.
void RaiseTo(uint32_t* word, uint32_t value);

}  // namespace tessera::limiter
