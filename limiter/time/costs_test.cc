// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/costs.h"

#include <gtest/gtest.h>

#include <memory>

#include "limiter/time/times_under_test.h"

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

TEST_F(CostsTest, ARunThatWaitedForASiblingIsNotLearnedFrom) {
  Cost* const cost = costs_->Find(7);
  cost->Learn(300'000, 300'000, Company::kSiblings);
  for (int i = 0; i < 200; ++i) {
    for (const uint64_t ns : {20'000u, 28'000u, 40'000u, 400'000u}) {
      cost->Learn(ns, ns, Company::kSiblings);
    }
  }
  EXPECT_NEAR(static_cast<double>(cost->ns()), 24'000, 1'000);
  EXPECT_FALSE(cost->waits());
}

TEST_F(CostsTest, AmongOthersAKernelThatTakesLongerNowIsFollowed) {
  for (const Company company : {Company::kSiblings, Company::kNeighbours, Company::kUnknown}) {
    Cost* const cost = costs_->Find(static_cast<uint64_t>(company) + 7);
    cost->Learn(20'000, 20'000, company);
    for (int i = 0; i < 200; ++i) cost->Learn(100'000, 100'000, company);
    EXPECT_NEAR(static_cast<double>(cost->ns()), 100'000, 1'000);
  }
}

TEST_F(CostsTest, AmongNeighboursAKernelCostsWhatTheOneOfTenTookThatDidNotWait) {
  Cost* const cost = costs_->Find(7);
  for (uint64_t i = 0; i < 1'000; ++i) {
    const uint64_t took = i % 10 == 0 ? 100'000 : 110'000 + i * 7'919 % 200'000;
    cost->Learn(took, took, Company::kNeighbours);
  }
  EXPECT_TRUE(cost->waits());
  EXPECT_NEAR(static_cast<double>(cost->ns()), 100'000, 2'500);
}

TEST_F(CostsTest, AmongNeighboursFewRunsThatDidNotWaitTellWhereTheyTookTheSame) {
  Cost* const cost = costs_->Find(7);
  for (uint64_t i = 0; i < 1'000; ++i) {
    const uint64_t took = i % 25 == 0 ? 100'000 : 100'000 + i * 7'919 % 100'000;
    cost->Learn(took, took, Company::kNeighbours);
  }
  EXPECT_NEAR(static_cast<double>(cost->ns()), 100'000, 1'000);
}

TEST_F(CostsTest, AmongNeighboursAKernelThatAlwaysVariesCostsItsMean) {
  Cost* const cost = costs_->Find(7);
  for (uint64_t i = 0; i < 1'000; ++i) {
    const uint64_t took = 100'000 + i * 7'919 % 50'000;
    cost->Learn(took, took, Company::kNeighbours);
    if (i > 100) {
      EXPECT_GT(cost->ns(), 115'000u) << i;
    }
  }
}

TEST_F(CostsTest, AmongNeighboursAKernelThatVariesByHalfCostsItsMean) {
  Cost* const cost = costs_->Find(7);
  for (uint64_t i = 0; i < 2'000; ++i) {
    const uint64_t took = 100'000 + i * 7'919 % 50'000 + (i % 2 == 0 ? 0 : 150'000);
    cost->Learn(took, took, Company::kNeighbours);
  }
  EXPECT_NEAR(static_cast<double>(cost->ns()), 125'000, 8'000);
}

TEST_F(CostsTest, WhereNobodyKnowsOfNeighboursLongRunsTellOfThem) {
  Cost* const cost = costs_->Find(7);
  for (uint64_t i = 0; i < 200; ++i) {
    cost->Learn(100'000 + i % 5 * 10'000, 100'000 + i % 5 * 10'000, Company::kUnknown);
  }
  EXPECT_FALSE(cost->waits()) << "it varies";
  EXPECT_NEAR(static_cast<double>(cost->ns()), 120'000, 5'000);
  for (uint64_t i = 0; i < 200; ++i) {
    const uint64_t took = i % 3 == 0 ? 100'000 : 400'000;
    cost->Learn(took, took, Company::kUnknown);
  }
  EXPECT_TRUE(cost->waits());
  EXPECT_NEAR(static_cast<double>(cost->ns()), 100'000, 3'000);
}

TEST_F(CostsTest, AKernelThatIsKnownToBeAloneCostsTheMeanOfWhateverItTook) {
  Cost* const cost = costs_->Find(7);
  for (uint64_t i = 0; i < 400; ++i) cost->Learn(i % 2 == 0 ? 1'000 : 1'999'000);
  EXPECT_FALSE(cost->waits());
  EXPECT_NEAR(static_cast<double>(cost->ns()), 1e6, 1e5);
}

TEST_F(CostsTest, WhatRunsAtTheSameTimeCostsWhatTheDeviceWasBusy) {
  for (const Company company : {Company::kNone, Company::kUnknown}) {
    Cost* const cost = costs_->Find(static_cast<uint64_t>(company) + 7);
    for (int i = 0; i < 200; ++i) cost->Learn(80'000, 20'000, company);
    EXPECT_FALSE(cost->waits());
    EXPECT_NEAR(static_cast<double>(cost->ns()), 20'000, 100);
  }
}

TEST_F(CostsTest, AmongNeighboursALongKernelCostsWhatItWasCalibratedTo) {
  Cost* const cost = costs_->Find(7);
  const auto run = [&](Company company) { cost->Learn(100 * kMs, 100 * kMs, company); };
  run(Company::kNeighbours);
  EXPECT_EQ(cost->ns(), 100 * kMs);
  cost->Calibrate(50 * kMs, 1'000 * kMs);
  run(Company::kNeighbours);
  EXPECT_EQ(cost->ns(), 50 * kMs);
  run(Company::kNone);
  EXPECT_EQ(cost->ns(), 100 * kMs) << "alone it takes what it was measured to take";
}

TEST_F(CostsTest, WhatIsCalibratedFollowsWhatTheKernelTakes) {
  Cost* const cost = costs_->Find(7);
  cost->Learn(100 * kMs, 100 * kMs, Company::kNeighbours);
  for (uint64_t i = 0; i < 100; ++i) cost->Calibrate((i % 2 == 0 ? 40 : 60) * kMs, i * 6'000 * kMs);
  cost->Learn(100 * kMs, 100 * kMs, Company::kNeighbours);
  EXPECT_NEAR(static_cast<double>(cost->ns()), 50e6, 2e6);
}

TEST_F(CostsTest, OnlyLongKernelsAmongNeighboursAreCalibrated) {
  Cost* const cost = costs_->Find(7);
  EXPECT_FALSE(cost->IsToBeCalibrated(kMs));
  cost->Learn(kMs - 1, 5 * kMs, Company::kNeighbours);
  EXPECT_FALSE(cost->IsToBeCalibrated(kMs)) << "some hardly wait";
  EXPECT_FALSE(cost->Calibrate(kMs / 2, kMs));
  cost->Learn(kMs - 1, 5 * kMs, Company::kNeighbours);
  EXPECT_EQ(cost->ns(), kMs - 1);
  costs_->Forget(7);
  cost->Learn(kMs, kMs, Company::kNone);
  EXPECT_FALSE(cost->IsToBeCalibrated(kMs));
  cost->Learn(kMs, kMs, Company::kNeighbours);
  EXPECT_TRUE(cost->IsToBeCalibrated(kMs));
}

TEST_F(CostsTest, WhatTakesTooLongIsNotCalibrated) {
  costs_->Find(7)->Learn(200 * kMs, 200 * kMs, Company::kNeighbours);
  EXPECT_TRUE(costs_->Find(7)->IsToBeCalibrated(kMs));
  costs_->Find(8)->Learn(201 * kMs, 201 * kMs, Company::kNeighbours);
  EXPECT_FALSE(costs_->Find(8)->IsToBeCalibrated(kMs));
}

TEST_F(CostsTest, WhatStaysTheSameIsCalibratedEverMoreRarely) {
  Cost* const cost = costs_->Find(7);
  const auto run = [&](uint64_t ms) { cost->Learn(ms * kMs, ms * kMs, Company::kNeighbours); };
  run(100);
  uint64_t now = 1'000 * kMs;
  for (const uint64_t good_for : {5, 10, 20, 40, 80, 160, 160}) {
    cost->Calibrate(50 * kMs, now);
    EXPECT_FALSE(cost->IsToBeCalibrated(now + good_for * 1'000 * kMs - 1)) << good_for;
    EXPECT_TRUE(cost->IsToBeCalibrated(now + good_for * 1'000 * kMs)) << good_for;
    now += good_for * 1'000 * kMs;
  }
  cost->Calibrate(60 * kMs, now);
  EXPECT_TRUE(cost->IsToBeCalibrated(now + 5'000 * kMs)) << "it is another now";
}

TEST_F(CostsTest, WhatTakesAnotherTimeNowIsCalibratedSoon) {
  Cost* const cost = costs_->Find(7);
  const auto run = [&](uint64_t ms) { cost->Learn(ms * kMs, ms * kMs, Company::kNeighbours); };
  run(100);
  uint64_t now = 1'000 * kMs;
  for (int i = 0; i < 4; ++i) cost->Calibrate(50 * kMs, now += 100'000 * kMs);
  EXPECT_FALSE(cost->IsToBeCalibrated(now + 5'000 * kMs));
  for (int i = 0; i < 200; ++i) run(200);
  EXPECT_TRUE(cost->IsToBeCalibrated(now + 5'000 * kMs));
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
  EXPECT_NEAR(taken, 1000, 200);
  EXPECT_NEAR(of_even, 1000 / 16, 50);
}

TEST_F(CostsTest, WhichLaunchesAreMeasuredIsAnotherForEachKernel) {
  int at[8] = {};
  int same = 0;
  for (uint64_t key = 0; key < 8; ++key) {
    Cost* const cost = costs_->Find(key + 1);
    while (!cost->IsTurn()) ++at[key];
    if (at[key] == at[0]) ++same;
  }
  EXPECT_LT(same, 8);
}

TEST_F(CostsTest, MoreKernelsThanThereArePlacesAreLearnedAgain) {
  for (uint64_t i = 1; i <= 200'000; ++i) costs_->Find(Mixed(1, i))->Learn(i);
  Cost* const cost = costs_->Find(Mixed(1, 200'001));
  EXPECT_EQ(cost->ns(), 0u);
}

}  // namespace
}  // namespace tessera::limiter
