// SPDX-License-Identifier: Apache-2.0
#include "base/repeats.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::log {
namespace {

constexpr Steady kStart{Duration(1'000)};

TEST(Repeats, ThreePassAndTheRestDoNot) {
  Repeats repeats;

  EXPECT_TRUE(repeats.Passes(1, "a", kStart));
  EXPECT_TRUE(repeats.Passes(1, "a", kStart));
  EXPECT_TRUE(repeats.Passes(1, "a", kStart));
  EXPECT_FALSE(repeats.Passes(1, "a", kStart));
  EXPECT_TRUE(repeats.Passes(1, "b", kStart));
}

TEST(Repeats, TheNumberDroppedIsToldOnceTheSpanIsOver) {
  Repeats repeats;
  for (int i = 0; i < 10; ++i) repeats.Passes(2, "a", kStart);

  EXPECT_TRUE(repeats.Ended(kStart + Repeats::kSpan - Duration(1)).empty());
  const auto ended = repeats.Ended(kStart + Repeats::kSpan);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].level, 2);
  EXPECT_EQ(ended[0].line, "a");
  EXPECT_EQ(ended[0].count, 7);
  EXPECT_TRUE(repeats.Ended(kStart + 2 * Repeats::kSpan).empty());
}

TEST(Repeats, NothingIsToldOfLinesThatAllPassed) {
  Repeats repeats;
  for (int i = 0; i < 3; ++i) repeats.Passes(2, "a", kStart);

  EXPECT_TRUE(repeats.Ended(kStart + Repeats::kSpan).empty());
}

TEST(Repeats, ALinePassesAgainInTheNextSpan) {
  Repeats repeats;
  for (int i = 0; i < 4; ++i) repeats.Passes(2, "a", kStart);

  repeats.Ended(kStart + Repeats::kSpan);

  EXPECT_TRUE(repeats.Passes(2, "a", kStart + Repeats::kSpan));
}

TEST(Repeats, SpansEndOneByOne) {
  Repeats repeats;
  for (int i = 0; i < 4; ++i) repeats.Passes(2, "a", kStart);
  for (int i = 0; i < 4; ++i) repeats.Passes(2, "b", kStart + Duration(5'000));

  EXPECT_EQ(repeats.Ended(kStart + Repeats::kSpan).at(0).line, "a");
  EXPECT_EQ(repeats.Ended(kStart + Repeats::kSpan + Duration(5'000)).at(0).line, "b");
}

TEST(Repeats, MemoryIsBounded) {
  Repeats repeats;
  for (size_t i = 0; i < Repeats::kWatched; ++i) repeats.Passes(2, std::to_string(i), kStart);

  for (int i = 0; i < 10; ++i) EXPECT_TRUE(repeats.Passes(2, "one more", kStart));
  repeats.Ended(kStart + Repeats::kSpan);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(repeats.Passes(2, "one more", kStart + Repeats::kSpan));
  EXPECT_FALSE(repeats.Passes(2, "one more", kStart + Repeats::kSpan));
}

}  // namespace
}  // namespace tessera::log
