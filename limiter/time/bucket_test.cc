// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/bucket.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tessera::limiter {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr uint64_t kStart = 1'000'000'000'000;

TEST(BucketTest, ANewOneIsFull) {
  TimeAccounting accounting{};
  EXPECT_EQ(Take(&accounting, kStart, 30, kBurst), 0u);
  EXPECT_EQ(Take(&accounting, kStart, 30, 1), 0u) << "nothing is owed yet";
  EXPECT_EQ(Take(&accounting, kStart, 30, 1), 1u * 100 / 30 + 1);
}

TEST(BucketTest, WhatIsOwedIsWaitedForAsLongAsTheShareTakes) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 25, kLongBurst + 50 * kMs), 0u);
  EXPECT_EQ(Take(&accounting, kStart, 25, kMs), 200'000'001u);
  EXPECT_EQ(Take(&accounting, kStart + 100 * kMs, 25, kMs), 100'000'001u);
  EXPECT_EQ(Take(&accounting, kStart + 200 * kMs, 25, kMs), 0u);
  EXPECT_EQ(Take(&accounting, kStart + 200 * kMs, 25, kMs), 4'000'001u);
}

TEST(BucketTest, NoMoreThanTheBurstIsSavedUp) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 50, kBurst), 0u);
  ASSERT_EQ(Take(&accounting, kStart + 3'600'000 * kMs, 50, kMs), 0u);
  ASSERT_EQ(Take(&accounting, kStart + 3'600'000 * kMs, 50, kBurst), 0u);
  EXPECT_EQ(Take(&accounting, kStart + 3'600'000 * kMs, 50, 1), 2'000'001u);
}

TEST(BucketTest, ForALongLaunchAsMuchAsItTakesIsSavedUp) {
  TimeAccounting accounting{};
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t now = kStart + i * 3'600'000 * kMs;
    ASSERT_EQ(Take(&accounting, now, 50, 50 * kMs), 0u);
    ASSERT_EQ(Take(&accounting, now, 50, 50 * kMs), 0u) << "one was saved up";
    EXPECT_EQ(Take(&accounting, now, 50, 50 * kMs), 100'000'001u);
  }
}

TEST(BucketTest, WhoWasHeldMaySaveUpMore) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 50, kBurst), 0u);
  ASSERT_EQ(Take(&accounting, kStart + 1'000 * kMs, 50, kMs, 40 * kMs), 0u);
  EXPECT_EQ(accounting.bucket.low, static_cast<uint64_t>(kBurst + 39 * kMs));
  Correct(&accounting, kStart + 1'000 * kMs, 50, kMs, 0, 40 * kMs);
  EXPECT_EQ(accounting.bucket.low, static_cast<uint64_t>(kBurst + 38 * kMs));
}

// As at a measure of it, before the next one is launched.
TEST(BucketTest, WhatIsSavedUpForALongLaunchIsLeftWhereItIsCorrected) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 50, 50 * kMs), 0u);
  Correct(&accounting, kStart + 200 * kMs, 50, 3 * kMs, 50 * kMs);
  EXPECT_EQ(accounting.bucket.low, static_cast<uint64_t>(47 * kMs));
  Correct(&accounting, kStart + 200 * kMs, 50, 3 * kMs, kMs);
  EXPECT_EQ(accounting.bucket.low, static_cast<uint64_t>(12 * kMs));
}

TEST(BucketTest, WhatCostLessIsGivenBackAndWhatCostMoreIsOwed) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 50, kLongBurst + 20 * kMs), 0u);
  Correct(&accounting, kStart, 50, -20 * kMs);
  EXPECT_EQ(Take(&accounting, kStart, 50, 0), 0u);
  Correct(&accounting, kStart, 50, 3 * kMs);
  EXPECT_EQ(Take(&accounting, kStart, 50, 0), 6'000'001u);
}

TEST(BucketTest, OneOfAnotherBootIsGoodAgain) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart * 1000, 50, kLongBurst + kMs), 0u);
  EXPECT_EQ(Take(&accounting, kStart, 50, kMs), 2'000'001u);
  EXPECT_EQ(Take(&accounting, kStart + 2 * kMs, 50, kMs), 0u);
  accounting.busy_end = kStart * 1000;
  EXPECT_EQ(NewlyBusy(&accounting, kStart, kStart - 10, kStart - 3), 7u);
}

TEST(BucketTest, WordsThatNobodyWroteKeepNobodyForEver) {
  TimeAccounting accounting{};
  accounting.bucket = {uint64_t{1} << (kLeftBits - 1), kStart};
  EXPECT_EQ(Take(&accounting, kStart, 1, 1), static_cast<uint64_t>(kMostOwed) * 100 + 1);
  accounting.bucket = {(uint64_t{1} << (kLeftBits - 1)) - 1, kStart};
  ASSERT_EQ(Take(&accounting, kStart, 50, kLongBurst + kMs), 0u);
  EXPECT_EQ(Take(&accounting, kStart, 50, 1), 2'000'001u);
}

TEST(BucketTest, SoMuchCanBeTakenAsIsNotToBeOwed) {
  TimeAccounting accounting{};
  ASSERT_EQ(Take(&accounting, kStart, 50, INT64_MAX / 2), 0u);
  EXPECT_EQ(LeftIn(accounting.bucket), -kMostOwed);
}

TEST(BucketTest, ACorrectionOfAnyNumberStaysWithinWhatIsOwedOrLeft) {
  TimeAccounting accounting{};
  accounting.bucket = {static_cast<uint64_t>(-kMs) & ((uint64_t{1} << kLeftBits) - 1), kStart};
  Correct(&accounting, kStart, 50, INT64_MAX);
  EXPECT_EQ(LeftIn(accounting.bucket), -kMostOwed);
  accounting.bucket = {static_cast<uint64_t>(kMs), kStart};
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
  EXPECT_TRUE(CorrectOnce(&accounting, before, kStart - 5, 50, kMs, 0xabcdef));
  EXPECT_EQ(LeftIn(accounting.bucket), -kMs);
  EXPECT_EQ(accounting.bucket.high, kStart) << "what began before is as if it had been taken then";
  Correct(&accounting, kStart, 50, kMs);
  EXPECT_EQ(MarkIn(accounting.bucket), 0xabcdefu);
  EXPECT_EQ(LeftIn(accounting.bucket), -2 * kMs);
  EXPECT_FALSE(CorrectOnce(&accounting, before, kStart, 50, kMs, 1));
  EXPECT_EQ(LeftIn(accounting.bucket), -2 * kMs);
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
