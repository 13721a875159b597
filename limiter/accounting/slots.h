// SPDX-License-Identifier: Apache-2.0
// The processes of a container in its region. A slot never moves. Its owner alone writes it; what a
// dead owner left is given back by whoever claims the slot next, which only one can do at a time,
// and if that one is killed over it another one after it.
#pragma once

#include "limiter/accounting/locks.h"
#include "limiter/contract.h"

namespace tessera::limiter {

// Takes a slot for this process, after all dead ones were reaped; -1: there is none. What is
// claimed is to be kept by locks->Keep().
int TakeSlot(Region* region, uint64_t identity, Locks* locks);

// Gives back what dead processes held, of at most `most` slots, beginning where the last look
// ended; own is passed over. The number of slots reaped.
int ReapDead(Region* region, int own, int most, Locks* locks);

// Charges what a slot ran that nobody measured, and takes it out of what HAMi's monitor sees: its
// process says so when it begins to end. What it holds stays counted.
void Retire(Region* region, uint32_t slot);
// Likewise, and gives back what it holds on every device. Only for who claimed it.
void Empty(Region* region, uint32_t slot);

// Says that a process of the region died just now.
void NoteDeath(Region* region);

// Shows HAMi's monitor what a slot holds on a device.
void Mirror(Region* region, uint32_t slot, int device);

// A word of the region that counts something up.
void RaiseTo(uint32_t* word, uint32_t value);

}  // namespace tessera::limiter
