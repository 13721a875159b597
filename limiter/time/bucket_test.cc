// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/bucket.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tessera::limiter {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr uint64_t kStart = 1'000'000'000'000;

TEST(BucketTest, ANewOneIsFull) {
  TimeAccounting accounting{};
  EXPECT_EQ(Take(&accounting, kStart, 30, kBurst), 0u);
  EXPECT_EQ(Take(&accounting, kStart, 30, 1), 0u) << "nothing is owed yet";
  EXPECT_EQ(Take(&accounting, kStart, 30, 1), 1u * 100 / 30 + 1);
}

TEST(BucketTest, WhatIsOwedIsWaitedForAsLongAsTheShareTakes) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 25, kLongBurst + 50 * kMillisecond), 0u);
  EXPECT_EQ(Take(&accounting, kStart, 25, kMillisecond), 200'000'001u);
  EXPECT_EQ(Take(&accounting, kStart + 100 * kMillisecond, 25, kMillisecond), 100'000'001u);
  EXPECT_EQ(Take(&accounting, kStart + 200 * kMillisecond, 25, kMillisecond), 0u);
  EXPECT_EQ(Take(&accounting, kStart + 200 * kMillisecond, 25, kMillisecond), 4'000'001u);
}

TEST(BucketTest, NoMoreThanTheBurstIsSavedUp) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 50, kBurst), 0u);
  ASSERT_EQ(Take(&accounting, kStart + 3'600'000 * kMillisecond, 50, kMillisecond), 0u);
  ASSERT_EQ(Take(&accounting, kStart + 3'600'000 * kMillisecond, 50, kBurst), 0u);
  EXPECT_EQ(Take(&accounting, kStart + 3'600'000 * kMillisecond, 50, 1), 2'000'001u);
}

TEST(BucketTest, ForALongLaunchAsMuchAsItTakesIsSavedUp) {
  TimeAccounting accounting{};
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t now = kStart + i * 3'600'000 * kMillisecond;
    ASSERT_EQ(Take(&accounting, now, 50, 50 * kMillisecond), 0u);
    ASSERT_EQ(Take(&accounting, now, 50, 50 * kMillisecond), 0u) << "one was saved up";
    EXPECT_EQ(Take(&accounting, now, 50, 50 * kMillisecond), 100'000'001u);
  }
}

TEST(BucketTest, WhoWasHeldMaySaveUpMore) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 50, kBurst), 0u);
  ASSERT_EQ(Take(&accounting, kStart + 1'000 * kMillisecond, 50, kMillisecond, 40 * kMillisecond),
            0u);
  EXPECT_EQ(accounting.bucket.low, static_cast<uint64_t>(kBurst + 39 * kMillisecond));
  Correct(&accounting, kStart + 1'000 * kMillisecond, 50, kMillisecond, 0, 40 * kMillisecond);
  EXPECT_EQ(accounting.bucket.low, static_cast<uint64_t>(kBurst + 38 * kMillisecond));
}

// As when it is measured, before the next one is launched.
TEST(BucketTest, WhatIsSavedUpForALongLaunchIsLeftWhereItIsCorrected) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 50, 50 * kMillisecond), 0u);
  Correct(&accounting, kStart + 200 * kMillisecond, 50, 3 * kMillisecond, 50 * kMillisecond);
  EXPECT_EQ(accounting.bucket.low, static_cast<uint64_t>(47 * kMillisecond));
  Correct(&accounting, kStart + 200 * kMillisecond, 50, 3 * kMillisecond, kMillisecond);
  EXPECT_EQ(accounting.bucket.low, static_cast<uint64_t>(12 * kMillisecond));
}

TEST(BucketTest, WhatCostLessIsGivenBackAndWhatCostMoreIsOwed) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 50, kLongBurst + 20 * kMillisecond), 0u);
  Correct(&accounting, kStart, 50, -20 * kMillisecond);
  EXPECT_EQ(Take(&accounting, kStart, 50, 0), 0u);
  Correct(&accounting, kStart, 50, 3 * kMillisecond);
  EXPECT_EQ(Take(&accounting, kStart, 50, 0), 6'000'001u);
}

TEST(BucketTest, OneOfAnotherBootIsGoodAgain) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart * 1000, 50, kLongBurst + kMillisecond), 0u);
  EXPECT_EQ(Take(&accounting, kStart, 50, kMillisecond), 2'000'001u);
  EXPECT_EQ(Take(&accounting, kStart + 2 * kMillisecond, 50, kMillisecond), 0u);
  accounting.busy_end = kStart * 1000;
  EXPECT_EQ(NewlyBusy(&accounting, kStart, kStart - 10, kStart - 3), 7u);
}

TEST(BucketTest, WordsThatNobodyWroteKeepNobodyForEver) {
  TimeAccounting accounting{};
  accounting.bucket = {uint64_t{1} << (kLeftBits - 1), kStart};
  EXPECT_EQ(Take(&accounting, kStart, 1, 1), static_cast<uint64_t>(kMostOwed) * 100 + 1);
  accounting.bucket = {(uint64_t{1} << (kLeftBits - 1)) - 1, kStart};
  ASSERT_EQ(Take(&accounting, kStart, 50, kLongBurst + kMillisecond), 0u);
  EXPECT_EQ(Take(&accounting, kStart, 50, 1), 2'000'001u);
}

TEST(BucketTest, SoMuchCanBeTakenAsIsNotToBeOwed) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 50, INT64_MAX / 2), 0u);
  EXPECT_EQ(LeftIn(accounting.bucket), -kMostOwed);
}

TEST(BucketTest, ACorrectionOfAnyNumberStaysWithinWhatIsOwedOrLeft) {
  TimeAccounting accounting{};
  accounting.bucket = {static_cast<uint64_t>(-kMillisecond) & ((uint64_t{1} << kLeftBits) - 1),
                       kStart};
  Correct(&accounting, kStart, 50, INT64_MAX);
  EXPECT_EQ(LeftIn(accounting.bucket), -kMostOwed);
  accounting.bucket = {static_cast<uint64_t>(kMillisecond), kStart};
  Correct(&accounting, kStart, 50, INT64_MIN);
  EXPECT_EQ(LeftIn(accounting.bucket), kMostOwed);
  const TotalWord seen = accounting.bucket;
  EXPECT_TRUE(CorrectOnce(&accounting, seen, kStart, 50, INT64_MAX, 0));
  EXPECT_EQ(LeftIn(accounting.bucket), -kMostOwed);
}

TEST(BucketTest, AMarkStaysWhateverIsTakenAfterIt) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 50, kBurst), 0u);
  const TotalWord before = accounting.bucket;
  ASSERT_EQ(Take(&accounting, kStart, 50, 0), 0u);
  EXPECT_TRUE(CorrectOnce(&accounting, before, kStart - 5, 50, kMillisecond, 0xabcdef));
  EXPECT_EQ(LeftIn(accounting.bucket), -kMillisecond);
  EXPECT_EQ(accounting.bucket.high, kStart) << "what began before is as if it had been taken then";
  Correct(&accounting, kStart, 50, kMillisecond);
  EXPECT_EQ(MarkIn(accounting.bucket), 0xabcdefu);
  EXPECT_EQ(LeftIn(accounting.bucket), -2 * kMillisecond);
  EXPECT_FALSE(CorrectOnce(&accounting, before, kStart, 50, kMillisecond, 1));
  EXPECT_EQ(LeftIn(accounting.bucket), -2 * kMillisecond);
}

TEST(BucketTest, ThreadsTakeNoMoreThanThereIs) {
  TimeAccounting accounting{};
  std::vector<std::thread> threads;
  std::atomic<int64_t> taken{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100'000; ++n) {
        if (Take(&accounting, kStart, 30, 1000) == 0) taken += 1000;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, kBurst + 1000);
}

TEST(BusyTest, WhatOverlapsIsChargedOnce) {
  TimeAccounting accounting{};
  EXPECT_EQ(NewlyBusy(&accounting, kStart, 100, 200), 100u);
  EXPECT_EQ(NewlyBusy(&accounting, kStart, 100, 300), 100u) << "waited for the first";
  EXPECT_EQ(NewlyBusy(&accounting, kStart, 150, 250), 0u);
  EXPECT_EQ(NewlyBusy(&accounting, kStart, 400, 450), 50u);
  EXPECT_EQ(NewlyBusy(&accounting, 500, 480, 900), 20u) << "not what has not been yet";
}

}  // namespace
}  // namespace tessera::limiter
