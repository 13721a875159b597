// SPDX-License-Identifier: Apache-2.0
#include "limiter/view/memory.h"

#include <gtest/gtest.h>

namespace tessera::limiter {
namespace {

TEST(MemoryViewTest, TheLimitIsTheSizeAndWhatIsNotHeldIsFree) {
  EXPECT_EQ(ShareOf({90, 100}, 40, 10), (MemoryView{30, 40}));
  EXPECT_EQ(ShareOf({90, 100}, 40, 0), (MemoryView{40, 40}));
  EXPECT_EQ(ShareOf({90, 100}, 40, 40), (MemoryView{0, 40}));
}

TEST(MemoryViewTest, NoMoreIsFreeThanTheNeighboursLeft) {
  EXPECT_EQ(ShareOf({5, 100}, 40, 10), (MemoryView{5, 40}));
}

// The limit was lowered, or the driver allocated more than was asked for.
TEST(MemoryViewTest, WhoHoldsMoreThanTheLimitHasNothingFree) {
  EXPECT_EQ(ShareOf({90, 100}, 40, 41), (MemoryView{0, 40}));
}

TEST(MemoryViewTest, WithoutALimitOrWithALargerOneTheDeviceIsShown) {
  EXPECT_EQ(ShareOf({90, 100}, 0, 10), (MemoryView{90, 100}));
  EXPECT_EQ(ShareOf({90, 100}, 400, 10), (MemoryView{90, 100}));
}

TEST(MemoryViewTest, ADeviceThatIsNotInTheAccountingIsShownAsItIs) {
  EXPECT_EQ(ViewOf(-1, {90, 100}), (MemoryView{90, 100}));
}

}  // namespace
}  // namespace tessera::limiter
