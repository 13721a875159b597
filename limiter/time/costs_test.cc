// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/costs.h"

#include <gtest/gtest.h>

#include <memory>

namespace tessera::limiter {
namespace {

class CostsTest : public testing::Test {
 protected:
  std::unique_ptr<Costs> costs_{new Costs()};
};

TEST_F(CostsTest, AKernelIsUnknownUntilItWasMeasured) {
  Cost* const cost = costs_->Find(7);
  EXPECT_EQ(cost->ns(), 0u);
  cost->Learn(20'000);
  EXPECT_EQ(costs_->Find(7)->ns(), 20'000u);
  EXPECT_EQ(costs_->Find(8)->ns(), 0u);
}

TEST_F(CostsTest, TheFirstRunsAreAveragedAndLaterOnesFollowed) {
  Cost* const cost = costs_->Find(7);
  for (const uint64_t ns : {10u, 20u, 30u}) cost->Learn(ns);
  EXPECT_EQ(cost->ns(), 20u);
  for (int i = 0; i < 200; ++i) cost->Learn(2'000'000);
  EXPECT_NEAR(static_cast<double>(cost->ns()), 2e6, 100);
}

TEST_F(CostsTest, ARunThatCostNothingLeavesTheKernelKnown) {
  costs_->Find(7)->Learn(0);
  EXPECT_EQ(costs_->Find(7)->ns(), 1u);
}

TEST_F(CostsTest, ARunThatWaitedForOthersIsNotLearnedFrom) {
  Cost* const cost = costs_->Find(7);
  cost->LearnAmongOthers(300'000);
  for (int i = 0; i < 200; ++i) {
    for (const uint64_t ns : {20'000u, 28'000u, 40'000u, 400'000u}) cost->LearnAmongOthers(ns);
  }
  EXPECT_NEAR(static_cast<double>(cost->ns()), 24'000, 1'000);
}

TEST_F(CostsTest, AmongOthersAKernelThatTakesLongerNowIsFollowed) {
  Cost* const cost = costs_->Find(7);
  cost->LearnAmongOthers(20'000);
  for (int i = 0; i < 200; ++i) cost->LearnAmongOthers(100'000);
  EXPECT_NEAR(static_cast<double>(cost->ns()), 100'000, 1'000);
}

TEST_F(CostsTest, WhatIsForgottenIsUnknown) {
  costs_->Find(7)->Learn(5);
  costs_->Forget(7);
  EXPECT_EQ(costs_->Find(7)->ns(), 0u);
  costs_->Find(7)->Learn(9);
  EXPECT_EQ(costs_->Find(7)->ns(), 9u);
}

TEST_F(CostsTest, OneOfSixteenIsMeasuredInNoRhythm) {
  Cost* const cost = costs_->Find(7);
  int taken = 0, of_even = 0;
  for (int i = 0; i < 16'000; ++i) {
    if (!cost->IsTurn()) continue;
    ++taken;
    if (i % 16 == 0) ++of_even;
  }
  EXPECT_NEAR(taken, 1000, 10);
  EXPECT_NEAR(of_even, 1000 / 16, 25);
}

TEST_F(CostsTest, MoreKernelsThanThereArePlacesAreLearnedAgain) {
  for (uint64_t i = 1; i <= 200'000; ++i) costs_->Find(Mixed(1, i))->Learn(i);
  Cost* const cost = costs_->Find(Mixed(1, 200'001));
  EXPECT_EQ(cost->ns(), 0u);
}

}  // namespace
}  // namespace tessera::limiter
