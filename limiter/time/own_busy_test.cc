// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/own_busy.h"

#include <gtest/gtest.h>

namespace tessera::limiter {
namespace {

TEST(OwnBusyTest, WhatOverlapsCountsOnce) {
  OwnBusy busy{};
  EXPECT_EQ(busy.Newly(100, 200), 100u);
  EXPECT_EQ(busy.Newly(100, 300), 100u);
  EXPECT_EQ(busy.Newly(150, 250), 0u);
  EXPECT_EQ(busy.Newly(400, 450), 50u);
  EXPECT_EQ(busy.Newly(450, 450), 0u);
}

TEST(OwnBusyTest, ALongRunThatOthersWereMeasuredBesideCountsWithoutThem) {
  OwnBusy busy{};
  EXPECT_EQ(busy.Newly(1'000, 1'010), 10u);
  EXPECT_EQ(busy.Newly(1'500, 1'520), 20u);
  EXPECT_EQ(busy.Newly(1'900, 1'910), 10u);
  EXPECT_EQ(busy.Newly(900, 1'905), 970u) << "it ran before, between and beside them";
  EXPECT_EQ(busy.Newly(900, 1'905), 0u);
}

TEST(OwnBusyTest, ManyShortRunsHideNoLongOne) {
  OwnBusy busy{};
  for (uint64_t i = 1; i <= 1'000; ++i) busy.Newly(i * 100, i * 100 + 1);
  EXPECT_GE(busy.Newly(100, 100'000), 99'000u - 1'000);
}

}  // namespace
}  // namespace tessera::limiter
