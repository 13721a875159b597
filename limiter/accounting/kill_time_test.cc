// SPDX-License-Identifier: Apache-2.0
// Kills while compute time is charged.
#include <cstring>
#include <vector>

#include "limiter/accounting/kill_test.h"
#include "limiter/time/bucket.h"
#include "limiter/time/in_flight.h"
#include "limiter/time/neighbours.h"

namespace tessera::limiter {
namespace {

TEST_F(KillTest, AtAnyInstructionOfALaunchsAccounting) {
  StartSurvivor();
  constexpr uint64_t kNow = uint64_t{1} << 40;
  constexpr int64_t kCost = 4'000'000, kMore = 3'000'000;
  const auto accounting = [] { return &TheRegion()->accounting.times[0]; };
  const auto launch = [&] {
    Take(accounting(), kNow, 50, kCost);
    NewlyBusy(accounting(), kNow, kNow - 9'000'000, kNow - 2'000'000);
    ChargeSoloRun(accounting(), {7'000'000, 5'000'000});
    SettleWaited(accounting(), Company::kNone);
    Correct(accounting(), kNow, 50, kMore);
  };
  const auto prepare = [&] {
    Joined()();
    *accounting() = {};
  };
  // The bucket is as before one of these operations, or as after it.
  const pid_t pid = Stopped(prepare, launch);
  for (int64_t at = 0; Go(pid, PTRACE_SINGLESTEP); ++at) {
    const TotalWord& word = Shown().accounting.times[0].bucket;
    const int64_t left = LeftIn(word);
    const bool known =
        (word.high == 0 && left == 0) ||
        (word.high == kNow && (left == kBurst - kCost || left == kBurst - kCost - kMore));
    ASSERT_TRUE(known) << left << " at " << word.high << " after instruction " << at;
  }
  Kill(pid);
  KillEverywhere(prepare, launch);
}

TEST_F(KillTest, AtAnyInstructionOfTheChargeForAnEnd) {
  StartSurvivor();
  constexpr uint64_t kNow = uint64_t{1} << 40, kRan = 35'000'000;
  constexpr int64_t kTaken = 5'000'000;
  constexpr uint32_t kOne = 3, kOther = 2;
  const auto prepare = [&] {
    Joined()();
    Accounting& accounting = TheRegion()->accounting;
    accounting.times[0] = {};
    accounting.times[0].bucket = {0, kNow};
    accounting.in_flight[kOne][0] = {kNow - kRan, kTaken};
    accounting.in_flight[kOther][0] = {kNow, 0};
  };
  const auto charge = [] { ChargeEnd(TheRegion(), kOne, 0, kNow, 0); };
  // The next process charges the rest, whichever slot it looks at first.
  const auto left_after = [&](const std::vector<uint32_t>& slots) {
    static Region copy;
    std::memcpy(copy.accounting.times, Shown().accounting.times, sizeof copy.accounting.times);
    std::memcpy(copy.accounting.in_flight, Shown().accounting.in_flight,
                8 * sizeof copy.accounting.in_flight[0]);
    copy.accounting.slots_used = 8;
    for (const uint32_t slot : slots) ChargeEnd(&copy, slot, 0, kNow, 0);
    EXPECT_EQ(copy.accounting.in_flight[kOne][0].since, 0u);
    return LeftIn(copy.accounting.times[0].bucket);
  };
  constexpr int64_t kOwed = kTaken - static_cast<int64_t>(kRan);
  const pid_t pid = Stopped(prepare, charge);
  for (int64_t at = 0; Go(pid, PTRACE_SINGLESTEP); ++at) {
    ASSERT_EQ(left_after({kOne}), kOwed) << "after instruction " << at;
    ASSERT_EQ(left_after({kOther, kOne}), kOwed) << "after instruction " << at;
  }
  KillIfThere(pid);
  KillEverywhere(prepare, charge);
}

}  // namespace
}  // namespace tessera::limiter
