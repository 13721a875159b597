// SPDX-License-Identifier: Apache-2.0
#include "os/alarm.h"

#include <gtest/gtest.h>

namespace tessera::os {
namespace {

constexpr Duration kSoon{1};
constexpr Duration kNever{3'600'000};

class AlarmTest : public testing::Test {
 protected:
  Loop loop_;
  int rings_ = 0;
  Alarm alarm_{loop_, [this] {
                 ++rings_;
                 loop_.Stop();
               }};
};

TEST_F(AlarmTest, TheEarliestWishCounts) {
  alarm_.RingWithin(kNever);
  alarm_.RingWithin(kSoon);
  alarm_.RingWithin(kNever);

  loop_.Run();

  EXPECT_EQ(rings_, 1);
}

TEST_F(AlarmTest, ItRingsOnceForAllWishes) {
  alarm_.RingWithin(kSoon);
  alarm_.RingWithin(kSoon);
  loop_.Run();

  const Loop::Handle end = loop_.After(10 * kSoon, [this] { loop_.Stop(); });
  loop_.Run();

  EXPECT_EQ(rings_, 1);
}

TEST_F(AlarmTest, ItCanBeSetAgainWhileItRings) {
  Alarm twice(loop_, [&] {
    if (++rings_ == 2) return loop_.Stop();
    twice.RingWithin(kSoon);
  });
  twice.RingWithin(kSoon);

  loop_.Run();

  EXPECT_EQ(rings_, 2);
}

TEST_F(AlarmTest, CancelledItIsQuietUntilItIsSetAgain) {
  alarm_.RingWithin(kSoon);
  alarm_.Cancel();
  const Loop::Handle end = loop_.After(10 * kSoon, [this] { loop_.Stop(); });
  loop_.Run();
  EXPECT_EQ(rings_, 0);

  alarm_.RingWithin(kSoon);
  loop_.Run();
  EXPECT_EQ(rings_, 1);
}

TEST(Beat, ComesAtTheSameMomentsForAll) {
  constexpr Duration kPeriod{60'000};

  const Duration wait = UntilBeat(kPeriod);
  const Steady now = SystemClock().Now();

  EXPECT_GT(wait, Duration(0));
  EXPECT_LE(wait, kPeriod);
  // At a multiple of the period, but for the time that passed between both readings.
  EXPECT_LT((now + wait).time_since_epoch() % kPeriod, Duration(10'000));
}

}  // namespace
}  // namespace tessera::os
