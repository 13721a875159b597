// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/neighbours.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "limiter/time/times_under_test.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kStart = 1'000'000 * kMs;

class NeighboursTest : public testing::Test {
 protected:
  // Does what the agent does: reports so much more use of others.
  Company Tell(uint64_t at_ms, uint64_t more_ms) {
    accounting_.others += more_ms * kMs;
    accounting_.others_at = kStart + at_ms * kMs;
    return Look(at_ms);
  }
  Company Look(uint64_t at_ms) {
    return neighbours_.ReadCompany(accounting_, kStart + at_ms * kMs);
  }

  TimeAccounting accounting_{};
  Neighbours neighbours_{};
};

TEST_F(NeighboursTest, WithoutAWordNobodyKnows) {
  EXPECT_EQ(Look(0), Company::kUnknown);
}

TEST_F(NeighboursTest, TheFirstWordSaysNothingOfLate) {
  EXPECT_EQ(Tell(0, 5'000), Company::kNeighbours);
  EXPECT_EQ(Tell(900, 0), Company::kNeighbours);
  EXPECT_EQ(Tell(1'100, 0), Company::kNone);
}

TEST_F(NeighboursTest, WhoHasMoreThanAHundredthOfTheDeviceIsANeighbour) {
  Tell(0, 0);
  EXPECT_EQ(Tell(2'000, 20), Company::kNone);
  EXPECT_EQ(Tell(2'100, 2), Company::kNeighbours);
}

TEST_F(NeighboursTest, ANeighbourLingersForAsLongAsLongKernelsAreNotTold) {
  Tell(0, 0);
  Tell(2'000, 100);
  EXPECT_EQ(Tell(2'900, 0), Company::kNeighbours);
  EXPECT_EQ(Tell(3'000, 0), Company::kNone);
}

TEST_F(NeighboursTest, AWordOfAnAgentThatHasGoneIsNone) {
  Tell(0, 0);
  EXPECT_EQ(Look(2'900), Company::kNeighbours);
  EXPECT_EQ(Look(3'100), Company::kUnknown);
  accounting_.others_at = kStart * 2;  // another boot's
  EXPECT_EQ(Look(3'200), Company::kUnknown);
}

TEST_F(NeighboursTest, ARunIsChargedWhatItTakesAloneAndTheRestIsKept) {
  EXPECT_EQ(ChargeSoloRun(&accounting_, {5 * kMs, 2 * kMs}), 2 * kMs);
  EXPECT_EQ(accounting_.waited, 3 * kMs);
}

TEST_F(NeighboursTest, RunsAreChargedNoMoreThanTheyWereMeasuredTogether) {
  EXPECT_EQ(ChargeSoloRun(&accounting_, {kMs, 2 * kMs}), kMs) << "two at once";
  EXPECT_EQ(ChargeSoloRun(&accounting_, {3 * kMs, 2 * kMs}), 2 * kMs);
  EXPECT_EQ(ChargeSoloRun(&accounting_, {kMs, 2 * kMs}), 2 * kMs);
  EXPECT_EQ(accounting_.waited, 0u);
}

TEST_F(NeighboursTest, ARunThatStandsForOthersWaitedForThemAll) {
  EXPECT_EQ(ChargeSoloRun(&accounting_, {50'000, 20'000, {16, 16}}), 20'000u);
  EXPECT_EQ(accounting_.waited, 16u * 30'000);
  EXPECT_EQ(ChargeSoloRun(&accounting_, {10'000, 20'000, {16, 16}}), 20'000u);
  EXPECT_EQ(accounting_.waited, 16u * 30'000);
}

TEST_F(NeighboursTest, ARunThatWasLetGoLateWaitedForThoseAlone) {
  EXPECT_EQ(ChargeSoloRun(&accounting_, {50'000, 20'000, {16, 4}}), 20'000u);
  EXPECT_EQ(accounting_.waited, 4u * 30'000);
}

TEST_F(NeighboursTest, ThatAProgramWasHeldUpIsWaitedOnce) {
  EXPECT_EQ(ChargeSoloRun(&accounting_, {2'050'000, 20'000, {16, 16}, 2'000'000}), 20'000u);
  EXPECT_EQ(accounting_.waited, 2'030'000u + 15 * 30'000);
}

TEST_F(NeighboursTest, WhatOthersHadExplainsWhatWasWaited) {
  Tell(0, 0);
  accounting_.others = 10 * kMs;
  SettleWaited(&accounting_, Company::kNeighbours);  // the interval is unknown
  accounting_.waited = 150 * kMs;
  accounting_.others += 100 * kMs;
  EXPECT_EQ(SettleWaited(&accounting_, Company::kNeighbours), 0u);
  EXPECT_EQ(accounting_.waited, 50 * kMs);
  EXPECT_EQ(SettleWaited(&accounting_, Company::kNeighbours), 0u) << "only once";
  EXPECT_EQ(accounting_.waited, 50 * kMs);
}

TEST_F(NeighboursTest, WhatNobodyHadIsChargedAfterAll) {
  accounting_.others = 10 * kMs;
  SettleWaited(&accounting_, Company::kNeighbours);
  accounting_.waited = 500 * kMs;
  accounting_.others += 100 * kMs;
  EXPECT_EQ(SettleWaited(&accounting_, Company::kNeighbours), 200 * kMs);
  EXPECT_EQ(accounting_.waited, kUnexplained);
}

TEST_F(NeighboursTest, AWrongNumberIsChargedUpToTheLargestDebt) {
  accounting_.settled = accounting_.others = 10 * kMs;
  accounting_.waited = UINT64_MAX;
  EXPECT_EQ(SettleWaited(&accounting_, Company::kNeighbours), static_cast<uint64_t>(kMostOwed));
  EXPECT_EQ(accounting_.waited, kUnexplained);
}

TEST_F(NeighboursTest, WithoutTheAgentItIsForgotten) {
  accounting_.waited = 500 * kMs;
  EXPECT_EQ(SettleWaited(&accounting_, Company::kUnknown), 0u);
  EXPECT_EQ(accounting_.waited, kUnexplained);
}

TEST_F(NeighboursTest, AWordOfAnotherBootExplainsAllOnce) {
  accounting_.settled = kStart;
  accounting_.others = 7;
  accounting_.waited = 500 * kMs;
  EXPECT_EQ(SettleWaited(&accounting_, Company::kNeighbours), 0u);
  EXPECT_EQ(accounting_.waited, 0u);
  EXPECT_EQ(accounting_.settled, 7u);
}

TEST_F(NeighboursTest, WhatThreadsChargeAtOnceAddsUp) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10'000; ++n) ChargeSoloRun(&accounting_, {5, 2});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(accounting_.waited, 4u * 10'000 * 3);
}

}  // namespace
}  // namespace tessera::limiter
