// SPDX-License-Identifier: Apache-2.0
#include "limiter/accounting/lending.h"

#include <gtest/gtest.h>

#include <memory>

#include "limiter/accounting/counters.h"
#include "limiter/accounting/slots.h"

namespace tessera::limiter {
namespace {

// Units of device 0, of processes in slots 0 to 3.
class LendingTest : public testing::Test {
 protected:
  LendingTest() {
    accounting().slots_used = 4;
    for (uint32_t slot = 0; slot < 4; ++slot) Move(&accounting(), 0, slot, 100, kMaxUnits);
  }
  Accounting& accounting() { return region_->accounting; }
  Lending& Of(uint32_t slot) { return accounting().lendings[slot][0]; }
  uint64_t Lent() { return LentOf(accounting(), 0); }
  uint64_t Total() { return TotalOf(accounting(), 0); }

  std::unique_ptr<Region> region_ = std::make_unique<Region>();
};

TEST_F(LendingTest, NoMoreIsLentThanTheLivingImportedOrKeptByDescriptors) {
  Lend(&accounting(), 0, 0, 50, kLentSlot);
  EXPECT_EQ(Lent(), 0u);
  Of(1).imported = 20 * kUnit;
  Of(2).kept = 5 * kUnit;
  EXPECT_EQ(MostLent(accounting(), 0, kLentSlot), 25u);
  EXPECT_EQ(MostLent(accounting(), 0, 1), 5u);
  Lend(&accounting(), 0, 0, 50, kLentSlot);
  EXPECT_EQ(Lent(), 25u);
  EXPECT_EQ(ShareOf(&accounting(), 0, 0), 75u);
  EXPECT_EQ(Total(), 400u);
}

TEST_F(LendingTest, AnImportOfUnknownSizeMayBeAllOfIt) {
  Of(1).unsized = 1;
  Lend(&accounting(), 0, 0, 50, kLentSlot);
  EXPECT_EQ(Lent(), 50u);
  SettleLent(&accounting(), 0);
  EXPECT_EQ(Lent(), 50u);
}

TEST_F(LendingTest, WhatCannotBeLentAnyMoreIsFree) {
  Of(1).imported = 20 * kUnit;
  Of(2).imported = 30 * kUnit;
  Lend(&accounting(), 0, 0, 50, kLentSlot);
  Of(2).imported = 0;
  SettleLent(&accounting(), 0);
  EXPECT_EQ(Lent(), 20u);
  EXPECT_EQ(Total(), 370u);
}

TEST_F(LendingTest, OfADeadProcessWhatOthersCanHaveIsLent) {
  Of(1).imported = 20 * kUnit;
  Of(3) = {.exported = 60 * kUnit,
           .imported = 10 * kUnit,
           .kept = 10 * kUnit,
           .doubtful = 0,
           .unsized = 1,
           .parting = 1};
  Empty(region_.get(), 3);
  EXPECT_EQ(Lent(), 20u);
  EXPECT_EQ(Total(), 320u);
  EXPECT_EQ(ShareOf(&accounting(), 0, 3), 0u);
  EXPECT_EQ(Of(3).exported + Of(3).imported + Of(3).kept + Of(3).unsized, 0u);
  EXPECT_EQ(Partings(accounting(), 0), 0u);
  EXPECT_EQ(TakeDoubtful(&accounting(), 0), 0u);
  Empty(region_.get(), 1);
  EXPECT_EQ(Lent(), 0u);
  EXPECT_EQ(Total(), 200u);
}

TEST_F(LendingTest, WhatIsKnownIsWhatIsExportedAndWhatIsLent) {
  Of(0).exported = 7 * kUnit;
  Of(1) = {.exported = 8 * kUnit,
           .imported = 2 * kUnit,
           .kept = 0,
           .doubtful = 0,
           .unsized = 0,
           .parting = 0};
  Lend(&accounting(), 0, 0, 50, kLentSlot);
  EXPECT_EQ(Known(accounting(), 0), 17u);
}

TEST_F(LendingTest, WhatIsDoubtfulIsTakenOnce) {
  Of(0).doubtful = 3 * kUnit;
  Of(2).doubtful = 4 * kUnit;
  EXPECT_TRUE(IsDoubtful(accounting(), 0));
  EXPECT_EQ(TakeDoubtful(&accounting(), 0), 7u);
  EXPECT_FALSE(IsDoubtful(accounting(), 0));
  EXPECT_EQ(TakeDoubtful(&accounting(), 0), 0u);
}

TEST_F(LendingTest, WordsThatCannotBeAreNoAmounts) {
  Of(0).exported = ~uint64_t{0};
  Of(1).imported = ~uint64_t{0};
  Of(2).kept = ~uint64_t{0};
  EXPECT_EQ(Known(accounting(), 0), kMaxUnits);
  EXPECT_EQ(MostLent(accounting(), 0, kLentSlot), kMaxUnits);
}

}  // namespace
}  // namespace tessera::limiter
