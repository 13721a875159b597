// SPDX-License-Identifier: Apache-2.0
// What the container holds of a device, and which process how much of it. Shared by processes of
// which any may be killed between any two instructions; nobody waits for anybody.
//
// An operation changes two words: the total, which takes the operation along (slot, sequence,
// change), then the share of its slot. Whoever comes next finds the last operation in the total and
// completes it in its slot first. So after the next call both are exact, wherever the process
// before it was killed. What is lent is another such word, and what goes there from a share leaves
// the total as it is.
#pragma once

#include "limiter/contract.h"

namespace tessera::limiter {

inline constexpr uint64_t kMaxUnits = kMaxBytes / kUnit;

inline constexpr uint64_t UnitsOf(uint64_t bytes) {
  return bytes / kUnit + (bytes % kUnit != 0);
}

enum class MoveResult : uint8_t { kDone, kPastLimit, kNoUse };

// Adds `units`, or takes them away, at most what the slot has. Only the owner of the slot may call
// it, from any thread; what is lent (kLentSlot) is anybody's to change. kNoUse: the words change
// faster than they can be used, or are none at all.
MoveResult Move(Accounting* accounting, int device, uint32_t slot, int64_t units, uint64_t limit);

// The total at a moment, and whether anything was added or taken since.
TotalWord TotalNow(const Accounting& accounting, int device);
bool IsStill(const TotalWord& seen, const Accounting& accounting, int device);
uint64_t AmountOf(const TotalWord& total);
// Likewise without a limit, if nothing was since `seen`. False: something was.
bool MoveSince(const TotalWord& seen, Accounting* accounting, int device, uint32_t slot,
               int64_t units);
// So many units of a slot, at most what it has, are lent from now on. False: something was counted
// since.
bool LendSince(const TotalWord& seen, Accounting* accounting, int device, uint32_t slot,
               uint64_t units);

// Units. The total as it is after the last operation; the share once that is complete.
uint64_t TotalOf(const Accounting& accounting, int device);
uint64_t ShareOf(Accounting* accounting, int device, uint32_t slot);

}  // namespace tessera::limiter
