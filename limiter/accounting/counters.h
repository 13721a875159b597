// SPDX-License-Identifier: Apache-2.0
// The container's total on a device, and each process's share of it. The words lie in memory of
// several processes, any of which may be killed between any two instructions. No process waits for
// another.
//
// An operation changes two words: first the total, which also records the operation (slot,
// sequence, change), then the share of its slot. The next operation finds the record in the total
// and completes it in the slot first. So both words are exact after the next call, wherever a
// process was killed.
//
// Lent memory has a share word of its own. An operation that moves units from a share to it leaves
// the total as it is.
#pragma once

#include "limiter/contract.h"

namespace tessera::limiter {

inline constexpr uint64_t kMaxUnits = kMaxBytes / kUnit;

inline constexpr uint64_t UnitsOf(uint64_t bytes) {
  return bytes / kUnit + (bytes % kUnit != 0);
}

enum class MoveResult : uint8_t { kDone, kPastLimit, kNoUse };

// Adds `units`, or removes them, at most the slot's share. Only the slot's owner may call it, from
// any thread. kLentSlot is open to every process. kNoUse: the words change faster than an attempt
// can finish, or were overwritten.
MoveResult Move(Accounting* accounting, int device, uint32_t slot, int64_t units, uint64_t limit);

// A snapshot of the total, and whether any operation followed it.
TotalWord TotalNow(const Accounting& accounting, int device);
bool IsStill(const TotalWord& seen, const Accounting& accounting, int device);
uint64_t AmountOf(const TotalWord& total);
// Move() without a limit, if no operation followed `seen`. False: one did.
bool MoveSince(const TotalWord& seen, Accounting* accounting, int device, uint32_t slot,
               int64_t units);
// Moves units, at most the slot's share, to the lent memory. False: an operation followed `seen`.
bool LendSince(const TotalWord& seen, Accounting* accounting, int device, uint32_t slot,
               uint64_t units);

// In units. The total includes the last operation. The share does so as well: ShareOf() completes
// that operation first.
uint64_t TotalOf(const Accounting& accounting, int device);
uint64_t ShareOf(Accounting* accounting, int device, uint32_t slot);

}  // namespace tessera::limiter
