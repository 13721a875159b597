// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/charge.h"

#include <gtest/gtest.h>

#include "limiter/time/bucket.h"
#include "limiter/time/times_under_test.h"

namespace tessera::limiter {
namespace {

class ChargeTest : public testing::Test {
 protected:
  // The agent has reported for a while that no other container uses the device.
  ChargeTest() {
    accounting_.others = 1;
    Tell();
    for (View* view : {&own_, &sibling_}) view->neighbours.ReadCompany(accounting_, now_);
    now_ += 1'500 * kMs;
    Tell();
  }
  void Tell() { accounting_.others_at = now_; }
  // Like the meter.
  int64_t Charge(View* view, Cost* cost, uint64_t start, uint64_t end, int64_t taken = 0,
                 uint32_t stands_for = 1, bool is_shared = true) {
    const Measurement measured{cost, 0, {stands_for, stands_for}, taken, start, end, 0};
    const int64_t charged =
        ChargeOf(measured, is_shared, view, {&accounting_, &calibration_}, now_);
    Correct(&accounting_, now_, 30, charged);
    view->processes.NoteOwn(charged);
    return charged;
  }

  TimeAccounting accounting_{};
  CalibrationAccounting calibration_{};
  View own_{}, sibling_{};
  Cost long_{}, short_{};
  uint64_t now_ = 1'000'000 * kMs;
};

TEST_F(ChargeTest, ALongRunIsNotHiddenBehindAShortOneOfASibling) {
  int64_t charged = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t from = now_;
    now_ += 20 * kMs;
    Tell();
    charged += Charge(&sibling_, &short_, now_ - kMs / 4, now_);
    charged += Charge(&own_, &long_, from, now_ - kMs / 8);
  }
  EXPECT_GE(charged, static_cast<int64_t>(100 * 20 * kMs - kUnexplained - 20 * kMs));
  EXPECT_LE(charged, static_cast<int64_t>(100 * 20 * kMs + 40 * kMs));
}

TEST_F(ChargeTest, WhoWaitsForASiblingIsNotChargedForIt) {
  int64_t own = 0;
  for (int i = 0; i < 1'000; ++i) {
    const uint64_t from = now_;
    now_ += 2 * kMs;
    Tell();
    Charge(&sibling_, &long_, from, from + kMs);
    own += Charge(&own_, &short_, from, now_);
  }
  EXPECT_NEAR(static_cast<double>(own), 1e9, 1e7);
}

// Without the agent, one of every three runs waits for a neighbour's.
TEST_F(ChargeTest, WhoHasASiblingAndWaitsForANeighbourIsNotChargedForIt) {
  accounting_.others_at = 0;
  int64_t own = 0;
  for (int i = 0; i < 900; ++i) {
    const uint64_t from = now_;
    const uint64_t end = from + (i % 3 == 0 ? 5 : 2) * kMs;
    now_ = from + 6 * kMs;
    own += Charge(i % 2 == 0 ? &own_ : &sibling_, i % 2 == 0 ? &long_ : &short_, from, end);
  }
  EXPECT_NEAR(static_cast<double>(own), 900 * 2e6, 0.03 * 900 * 2e6);
}

TEST_F(ChargeTest, WithoutTheAgentSiblingsThatWaitForEachOtherAreChargedWhatTheyHadTogether) {
  accounting_.others_at = 0;
  int64_t own = 0;
  for (int i = 0; i < 900; ++i) {
    const uint64_t from = now_;
    now_ += 4 * kMs;
    own += Charge(&own_, &long_, from, from + 4 * kMs);
    own += Charge(&sibling_, &short_, from, from + 2 * kMs);
  }
  EXPECT_NEAR(static_cast<double>(own), 900 * 4e6, static_cast<double>(kUnexplained) + 1e8);
}

TEST_F(ChargeTest, ALongRunIsNotHiddenBehindShortOnesBesideIt) {
  const uint64_t from = now_;
  now_ += 50 * kMs;
  int64_t charged = Charge(&own_, &short_, now_ - kMs, now_, 0, 1, false);
  charged += Charge(&own_, &long_, from, now_ - kMs / 2, 0, 1, false);
  EXPECT_EQ(charged, static_cast<int64_t>(50 * kMs));
}

TEST_F(ChargeTest, ARunThatStandsForOthersIsChargedForThemToo) {
  const uint64_t from = now_;
  now_ += 50 * kMs;
  EXPECT_EQ(Charge(&own_, &long_, from, from + 3 * kMs, kMs, 16, false),
            static_cast<int64_t>(3 * kMs + 15 * 2 * kMs));
  EXPECT_EQ(Charge(&own_, &short_, from + 3 * kMs, from + 4 * kMs, 2 * kMs, 16, false),
            -static_cast<int64_t>(14 * kMs));
}

TEST_F(ChargeTest, ARunThatTakesTurnsWithANeighbourIsChargedWhatItTakesAlone) {
  const auto run = [&](uint64_t ms) {
    const uint64_t from = now_;
    now_ += ms * kMs;
    accounting_.others += ms * kMs / 2;
    Tell();
    return Charge(&own_, &long_, from, now_, 0, 1, false);
  };
  for (int i = 0; i < 10; ++i) run(100);
  EXPECT_EQ(run(100), static_cast<int64_t>(100 * kMs));
  calibration_.alone_from = now_;
  calibration_.alone_until = now_ + 60 * kMs;
  run(50);
  EXPECT_EQ(calibration_.done_at, now_);
  EXPECT_EQ(run(100), static_cast<int64_t>(50 * kMs));
  EXPECT_EQ(long_.took(), 100 * kMs) << "beside others";
}

}  // namespace
}  // namespace tessera::limiter
