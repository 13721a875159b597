// SPDX-License-Identifier: Apache-2.0
// Kills while memory goes from one process to another.
#include "limiter/accounting/kill_test.h"
#include "limiter/accounting/lending.h"
#include "limiter/memory/passed.h"

namespace tessera::limiter {
namespace {

// Memory that one process exported and another holds is counted once, whenever its maker is killed.
TEST_F(KillTest, AtAnyInstructionOfGivingUpWhatAnotherProcessHas) {
  StartSurvivor();
  Shown().accounting.lendings[0][0].imported = kMiB;
  const auto export_it = [&] {
    Joined()();
    NoteExported(0, kMiB);
  };
  const auto give_up = [] { MemoryRelease(0, false).GiveUp(kMiB, SharedBy::kOpening); };
  ExpectLeftAtAnyInstruction(kMiB, export_it, give_up);
  const auto by_descriptor = [] { MemoryRelease(0, false).GiveUp(kMiB, SharedBy::kDescriptor); };
  ExpectLeftAtAnyInstruction(kMiB, export_it, by_descriptor);
}

TEST_F(KillTest, AtAnyInstructionOfReapingWhatAnotherProcessHas) {
  StartSurvivor();
  Shown().accounting.lendings[0][0].imported = kMiB;
  const auto die = [&] {
    const pid_t pid = StartHolding(5 * kMiB);
    Shown().accounting.lendings[1][0].exported = 2 * kMiB;
    Kill(pid);
  };
  ExpectLeftAtAnyInstruction(kMiB, die, [this] { JoinWith(limits_); });
}

TEST_F(KillTest, AtAnyInstructionOfGivingBackWhatADeadProcessMade) {
  StartSurvivor();
  const auto import = [&] {
    Joined()();
    Shown().accounting.lendings[OwnSlot()][0].imported = kMiB;
    EXPECT_TRUE(Reserve(0, kMiB, Kind::kData));
    Lend(&Shown().accounting, 0, static_cast<uint32_t>(OwnSlot()), kMiB / kUnit, kLentSlot);
    EXPECT_EQ(LentOf(Shown().accounting, 0) * kUnit, kMiB);
  };
  ExpectLeftAtAnyInstruction(0, import, [] { MemoryRelease(0, false).GiveBack(kMiB); });
}

}  // namespace
}  // namespace tessera::limiter
