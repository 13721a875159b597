// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/calibration.h"

#include <gtest/gtest.h>

#include "limiter/time/times_under_test.h"

namespace tessera::limiter {
namespace {

class CalibrationTest : public testing::Test {
 protected:
  // A kernel that shares time slices with a neighbour's, 100 ms each time.
  CalibrationTest() { Run(); }
  void Run() { cost_.Learn(100 * kMs, 100 * kMs, Company::kNeighbours); }
  void Say(uint64_t from, uint64_t until) {
    accounting_.alone_from = from;
    accounting_.alone_until = until;
  }
  bool Measure(uint64_t start, uint64_t end) {
    now_ = end;
    return Calibrate({&cost_, 0, {1, 1}, 0, start, end, 0}, end - start, now_, &accounting_);
  }

  CalibrationAccounting accounting_{};
  Cost cost_{};
  uint64_t now_ = 1'000'000 * kMs;
};

TEST_F(CalibrationTest, ALaunchIsHeldUntilTheAgentSaysAndNoLonger) {
  EXPECT_EQ(HeldFor(accounting_, now_), 0u);
  accounting_.held_until = now_ + 40 * kMs;
  EXPECT_EQ(HeldFor(accounting_, now_), 40 * kMs);
  EXPECT_EQ(HeldFor(accounting_, now_ + 40 * kMs), 0u);
}

TEST_F(CalibrationTest, AWordThatTheAgentDoesNotWriteHoldsNobody) {
  accounting_.held_until = now_ + kMostHeld + 1;
  EXPECT_EQ(HeldFor(accounting_, now_), 0u);
  accounting_.held_until = UINT64_MAX;
  EXPECT_EQ(HeldFor(accounting_, now_), 0u);
}

TEST_F(CalibrationTest, WhoWasHeldSavesItsShareOfThatForASecond) {
  accounting_.held_from = now_;
  accounting_.held_until = now_ + 200 * kMs;
  EXPECT_EQ(SavedWhileHeld(accounting_, now_ + 100 * kMs, 30), static_cast<int64_t>(30 * kMs));
  EXPECT_EQ(SavedWhileHeld(accounting_, now_ + 900 * kMs, 30), static_cast<int64_t>(60 * kMs));
  EXPECT_EQ(SavedWhileHeld(accounting_, now_ + 1'300 * kMs, 30), 0);
  accounting_.held_from = 1;
  EXPECT_EQ(SavedWhileHeld(accounting_, now_ + 900 * kMs, 30), 0) << "nobody is held for so long";
}

TEST_F(CalibrationTest, ALaunchSaysWhatItsRunsTakeBesideOthers) {
  WantCalibration(cost_, now_, &accounting_);
  EXPECT_EQ(accounting_.wanted_at, now_);
  EXPECT_EQ(accounting_.wanted_ns, 100 * kMs);
}

TEST_F(CalibrationTest, ARunOfTheMomentTellsWhatItCosts) {
  Say(now_, now_ + 120 * kMs);
  EXPECT_TRUE(Measure(now_ + 2 * kMs, now_ + 52 * kMs));
  EXPECT_EQ(accounting_.done_at, now_);
  EXPECT_EQ(cost_.ns(), 50 * kMs);
  Run();
  EXPECT_EQ(cost_.ns(), 50 * kMs);
}

TEST_F(CalibrationTest, ARunThatBeganBeforeOrEndedBehindTheMomentDoesNot) {
  Say(now_, now_ + 60 * kMs);
  const uint64_t from = now_;
  EXPECT_FALSE(Measure(from - 1, from + 49 * kMs));
  EXPECT_FALSE(Measure(from + 20 * kMs, from + 60 * kMs + 1));
  EXPECT_EQ(accounting_.done_at, 0u);
  EXPECT_EQ(cost_.ns(), 100 * kMs);
}

TEST_F(CalibrationTest, AMomentLongerThanTheAgentsIsNone) {
  Say(1, UINT64_MAX);
  EXPECT_FALSE(Measure(now_, now_ + 50 * kMs));
  EXPECT_EQ(cost_.ns(), 100 * kMs);
  EXPECT_FALSE(Calibrator().MayPass(cost_, true, now_, &accounting_));
}

TEST_F(CalibrationTest, OneLaunchTakesTheMoment) {
  Calibrator own{}, sibling{};
  EXPECT_FALSE(own.MayPass(cost_, true, now_, &accounting_));
  Say(now_, now_ + 120 * kMs);
  EXPECT_FALSE(own.MayPass(cost_, true, now_ - 1, &accounting_));
  EXPECT_FALSE(own.MayPass(cost_, false, now_, &accounting_)) << "it is not to be calibrated";
  EXPECT_TRUE(own.MayPass(cost_, true, now_, &accounting_));
  EXPECT_FALSE(own.MayPass(cost_, true, now_, &accounting_)) << "it is long";
  EXPECT_FALSE(sibling.MayPass(cost_, true, now_, &accounting_));
  Say(now_ + 5'000 * kMs, now_ + 5'120 * kMs);
  EXPECT_TRUE(sibling.MayPass(cost_, true, now_ + 5'000 * kMs, &accounting_));
  EXPECT_FALSE(own.MayPass(cost_, true, now_ + 5'000 * kMs, &accounting_));
}

TEST_F(CalibrationTest, OfShortKernelsAsManyPassAsFillTheBeginningOfTheMoment) {
  Cost cost{};
  cost.Learn(6 * kMs, 6 * kMs, Company::kNeighbours);
  Say(now_, now_ + 40 * kMs);
  Calibrator own{};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(own.MayPass(cost, i == 0, now_ + kMs, &accounting_)) << i;
  EXPECT_FALSE(own.MayPass(cost, false, now_ + kMs, &accounting_));
  Say(now_ + 5'000 * kMs, now_ + 5'040 * kMs);
  EXPECT_TRUE(own.MayPass(cost, true, now_ + 5'000 * kMs, &accounting_));
  EXPECT_FALSE(own.MayPass(cost, false, now_ + 5'020 * kMs, &accounting_)) << "it is late";
  Say(now_ + 9'000 * kMs, now_ + 9'040 * kMs);
  EXPECT_TRUE(own.MayPass(cost, true, now_ + 9'000 * kMs, &accounting_));
  EXPECT_FALSE(own.MayPass(Cost(), false, now_ + 9'000 * kMs, &accounting_)) << "it may be long";
}

TEST_F(CalibrationTest, WhatDoesNotEndInTheMomentDoesNotTakeIt) {
  Say(now_, now_ + 120 * kMs);
  Calibrator own{};
  EXPECT_FALSE(own.MayPass(cost_, true, now_ + 20 * kMs + 1, &accounting_));
  EXPECT_EQ(accounting_.taken, 0u);
  EXPECT_TRUE(own.MayPass(cost_, true, now_ + 20 * kMs, &accounting_));
}

TEST_F(CalibrationTest, ShortKernelsAreMeasuredForAWhile) {
  Cost cost{};
  cost.Learn(4 * kMs, 4 * kMs, Company::kNeighbours);
  Say(now_, now_ + 60 * kMs);
  const uint64_t from = now_;
  for (uint64_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(accounting_.done_at, 0u);
    const uint64_t end = from + 2 * i * kMs;
    Calibrate({&cost, 0, {1, 1}, 0, end - 2 * kMs, end, 0}, 2 * kMs, end, &accounting_);
  }
  EXPECT_EQ(accounting_.done_at, from + 10 * kMs);
}

}  // namespace
}  // namespace tessera::limiter
