// SPDX-License-Identifier: Apache-2.0
#include "kubelet/embedded/rate_limit.h"

#include <gtest/gtest.h>

namespace tessera::kubelet::embedded {
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

}  // namespace
}  // namespace tessera::kubelet::embedded
