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
  TimeBooks books{};
  EXPECT_EQ(Take(&books, kStart, 30, kBurst), 0u);
  EXPECT_EQ(Take(&books, kStart, 30, 1), 0u) << "nothing is owed yet";
  EXPECT_EQ(Take(&books, kStart, 30, 1), 1u * 100 / 30 + 1);
}

TEST(BucketTest, WhatIsOwedIsWaitedForAsLongAsTheShareTakes) {
  TimeBooks books{};
  ASSERT_EQ(Take(&books, kStart, 25, kLongBurst + 50 * kMs), 0u);
  EXPECT_EQ(Take(&books, kStart, 25, kMs), 200'000'001u);
  EXPECT_EQ(Take(&books, kStart + 100 * kMs, 25, kMs), 100'000'001u);
  EXPECT_EQ(Take(&books, kStart + 200 * kMs, 25, kMs), 0u);
  EXPECT_EQ(Take(&books, kStart + 200 * kMs, 25, kMs), 4'000'001u);
}

TEST(BucketTest, NoMoreThanTheBurstIsSavedUp) {
  TimeBooks books{};
  ASSERT_EQ(Take(&books, kStart, 50, kBurst), 0u);
  ASSERT_EQ(Take(&books, kStart + 3'600'000 * kMs, 50, kMs), 0u);
  ASSERT_EQ(Take(&books, kStart + 3'600'000 * kMs, 50, kBurst), 0u);
  EXPECT_EQ(Take(&books, kStart + 3'600'000 * kMs, 50, 1), 2'000'001u);
}

TEST(BucketTest, ForALongLaunchAsMuchAsItTakesIsSavedUp) {
  TimeBooks books{};
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t now = kStart + i * 3'600'000 * kMs;
    ASSERT_EQ(Take(&books, now, 50, 50 * kMs), 0u);
    ASSERT_EQ(Take(&books, now, 50, 50 * kMs), 0u) << "one was saved up";
    EXPECT_EQ(Take(&books, now, 50, 50 * kMs), 100'000'001u);
  }
}

TEST(BucketTest, WhoWasHeldMaySaveUpMore) {
  TimeBooks books{};
  ASSERT_EQ(Take(&books, kStart, 50, kBurst), 0u);
  ASSERT_EQ(Take(&books, kStart + 1'000 * kMs, 50, kMs, 40 * kMs), 0u);
  EXPECT_EQ(books.bucket.low, static_cast<uint64_t>(kBurst + 39 * kMs));
  Correct(&books, kStart + 1'000 * kMs, 50, kMs, 0, 40 * kMs);
  EXPECT_EQ(books.bucket.low, static_cast<uint64_t>(kBurst + 38 * kMs));
}

// As at a measure of it, before the next one is launched.
TEST(BucketTest, WhatIsSavedUpForALongLaunchIsLeftWhereItIsCorrected) {
  TimeBooks books{};
  ASSERT_EQ(Take(&books, kStart, 50, 50 * kMs), 0u);
  Correct(&books, kStart + 200 * kMs, 50, 3 * kMs, 50 * kMs);
  EXPECT_EQ(books.bucket.low, static_cast<uint64_t>(47 * kMs));
  Correct(&books, kStart + 200 * kMs, 50, 3 * kMs, kMs);
  EXPECT_EQ(books.bucket.low, static_cast<uint64_t>(12 * kMs));
}

TEST(BucketTest, WhatCostLessIsGivenBackAndWhatCostMoreIsOwed) {
  TimeBooks books{};
  ASSERT_EQ(Take(&books, kStart, 50, kLongBurst + 20 * kMs), 0u);
  Correct(&books, kStart, 50, -20 * kMs);
  EXPECT_EQ(Take(&books, kStart, 50, 0), 0u);
  Correct(&books, kStart, 50, 3 * kMs);
  EXPECT_EQ(Take(&books, kStart, 50, 0), 6'000'001u);
}

TEST(BucketTest, OneOfAnotherBootIsGoodAgain) {
  TimeBooks books{};
  ASSERT_EQ(Take(&books, kStart * 1000, 50, kLongBurst + kMs), 0u);
  EXPECT_EQ(Take(&books, kStart, 50, kMs), 2'000'001u);
  EXPECT_EQ(Take(&books, kStart + 2 * kMs, 50, kMs), 0u);
  books.busy_end = kStart * 1000;
  EXPECT_EQ(NewlyBusy(&books, kStart, kStart - 10, kStart - 3), 7u);
}

TEST(BucketTest, WordsThatNobodyWroteKeepNobodyForEver) {
  TimeBooks books{};
  books.bucket = {uint64_t{1} << (kLeftBits - 1), kStart};
  EXPECT_EQ(Take(&books, kStart, 1, 1), static_cast<uint64_t>(kMostOwed) * 100 + 1);
  books.bucket = {(uint64_t{1} << (kLeftBits - 1)) - 1, kStart};
  ASSERT_EQ(Take(&books, kStart, 50, kLongBurst + kMs), 0u);
  EXPECT_EQ(Take(&books, kStart, 50, 1), 2'000'001u);
}

TEST(BucketTest, SoMuchCanBeTakenAsIsNotToBeOwed) {
  TimeBooks books{};
  ASSERT_EQ(Take(&books, kStart, 50, INT64_MAX / 2), 0u);
  EXPECT_EQ(LeftIn(books.bucket), -kMostOwed);
}

TEST(BucketTest, ACorrectionOfAnyNumberStaysWithinWhatIsOwedOrLeft) {
  TimeBooks books{};
  books.bucket = {static_cast<uint64_t>(-kMs) & ((uint64_t{1} << kLeftBits) - 1), kStart};
  Correct(&books, kStart, 50, INT64_MAX);
  EXPECT_EQ(LeftIn(books.bucket), -kMostOwed);
  books.bucket = {static_cast<uint64_t>(kMs), kStart};
  Correct(&books, kStart, 50, INT64_MIN);
  EXPECT_EQ(LeftIn(books.bucket), kMostOwed);
  const TotalWord seen = books.bucket;
  EXPECT_TRUE(CorrectOnce(&books, seen, kStart, 50, INT64_MAX, 0));
  EXPECT_EQ(LeftIn(books.bucket), -kMostOwed);
}

TEST(BucketTest, AMarkStaysWhateverIsTakenAfterIt) {
  TimeBooks books{};
  ASSERT_EQ(Take(&books, kStart, 50, kBurst), 0u);
  const TotalWord before = books.bucket;
  ASSERT_EQ(Take(&books, kStart, 50, 0), 0u);
  EXPECT_TRUE(CorrectOnce(&books, before, kStart - 5, 50, kMs, 0xabcdef));
  EXPECT_EQ(LeftIn(books.bucket), -kMs);
  EXPECT_EQ(books.bucket.high, kStart) << "what began before is as if it had been taken then";
  Correct(&books, kStart, 50, kMs);
  EXPECT_EQ(MarkIn(books.bucket), 0xabcdefu);
  EXPECT_EQ(LeftIn(books.bucket), -2 * kMs);
  EXPECT_FALSE(CorrectOnce(&books, before, kStart, 50, kMs, 1));
  EXPECT_EQ(LeftIn(books.bucket), -2 * kMs);
}

TEST(BucketTest, ThreadsTakeNoMoreThanThereIs) {
  TimeBooks books{};
  std::vector<std::thread> threads;
  std::atomic<int64_t> taken{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100'000; ++n) {
        if (Take(&books, kStart, 30, 1000) == 0) taken += 1000;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, kBurst + 1000);
}

TEST(BusyTest, WhatOverlapsIsChargedOnce) {
  TimeBooks books{};
  EXPECT_EQ(NewlyBusy(&books, kStart, 100, 200), 100u);
  EXPECT_EQ(NewlyBusy(&books, kStart, 100, 300), 100u) << "waited for the first";
  EXPECT_EQ(NewlyBusy(&books, kStart, 150, 250), 0u);
  EXPECT_EQ(NewlyBusy(&books, kStart, 400, 450), 50u);
  EXPECT_EQ(NewlyBusy(&books, 500, 480, 900), 20u) << "not what has not been yet";
}

}  // namespace
}  // namespace tessera::limiter
