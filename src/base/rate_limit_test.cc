// SPDX-License-Identifier: Apache-2.0
#include "base/rate_limit.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

int Allowed(RateLimit& limit, Steady now, int tries) {
  int allowed = 0;
  for (int i = 0; i < tries; ++i) allowed += limit.Allow(now) ? 1 : 0;
  return allowed;
}

TEST(RateLimit, ABurstPassesAndTheRestIsRefused) {
  RateLimit limit(100, 10);
  EXPECT_EQ(Allowed(limit, Steady(Duration(5000)), 30), 10);
}

TEST(RateLimit, TokensComeBackWithTimeUpToTheBurst) {
  RateLimit limit(100, 10);
  Steady now(Duration(5000));
  Allowed(limit, now, 30);
  EXPECT_EQ(Allowed(limit, now + Duration(50), 30), 5);
  EXPECT_EQ(Allowed(limit, now + Duration(60'000), 30), 10);
}

TEST(RateLimit, SaysWhenTheNextTokenIsThere) {
  FakeClock clock;
  RateLimit limit(4, 2);
  EXPECT_EQ(limit.Until(clock.Now()), Duration(0));
  Allowed(limit, clock.Now(), 3);

  EXPECT_EQ(limit.Until(clock.Now()), Duration(250));
  clock.Advance(Duration(249));
  EXPECT_FALSE(limit.Allow(clock.Now()));
  clock.Advance(limit.Until(clock.Now()));
  EXPECT_TRUE(limit.Allow(clock.Now()));
}

TEST(RateLimit, WithoutAnyRateTheNextTokenIsADayAway) {
  FakeClock clock;
  RateLimit limit(0, 1);
  Allowed(limit, clock.Now(), 1);

  EXPECT_EQ(limit.Until(clock.Now()), Duration(86'400'000));
}

}  // namespace
}  // namespace tessera
