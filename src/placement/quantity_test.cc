// SPDX-License-Identifier: Apache-2.0
#include "placement/quantity.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <random>

namespace tessera {
namespace {

TEST(WholeQuantity, ReadsEverySuffix) {
  EXPECT_EQ(WholeQuantity("3"), 3);
  EXPECT_EQ(WholeQuantity("3k"), 3'000);
  EXPECT_EQ(WholeQuantity("3M"), 3'000'000);
  EXPECT_EQ(WholeQuantity("3G"), 3'000'000'000);
  EXPECT_EQ(WholeQuantity("3T"), 3'000'000'000'000);
  EXPECT_EQ(WholeQuantity("3P"), 3'000'000'000'000'000);
  EXPECT_EQ(WholeQuantity("3E"), 3'000'000'000'000'000'000);
  EXPECT_EQ(WholeQuantity("3Ki"), 3'072);
  EXPECT_EQ(WholeQuantity("1Mi"), int64_t{1} << 20);
  EXPECT_EQ(WholeQuantity("1Gi"), int64_t{1} << 30);
  EXPECT_EQ(WholeQuantity("1Ti"), int64_t{1} << 40);
  EXPECT_EQ(WholeQuantity("1Pi"), int64_t{1} << 50);
  EXPECT_EQ(WholeQuantity("1Ei"), int64_t{1} << 60);
}

TEST(WholeQuantity, ReadsExponents) {
  EXPECT_EQ(WholeQuantity("1e3"), 1'000);
  EXPECT_EQ(WholeQuantity("1E3"), 1'000);
  EXPECT_EQ(WholeQuantity("1e+3"), 1'000);
  EXPECT_EQ(WholeQuantity("5000e-3"), 5);
}

TEST(WholeQuantity, ReadsSignsAndPoints) {
  EXPECT_EQ(WholeQuantity("+3"), 3);
  EXPECT_EQ(WholeQuantity("-3k"), -3'000);
  EXPECT_EQ(WholeQuantity("-.5k"), -500);
  EXPECT_EQ(WholeQuantity("1.5k"), 1'500);
  EXPECT_EQ(WholeQuantity("2.000000000000000000000"), 2);
  EXPECT_EQ(WholeQuantity("1."), 1);
  EXPECT_EQ(WholeQuantity("0.0"), 0);
  EXPECT_EQ(WholeQuantity("0.5Gi"), int64_t{1} << 29);
  EXPECT_EQ(WholeQuantity("0.00000095367431640625Ei"), int64_t{1} << 40);
}

TEST(WholeQuantity, OfMilliTheWholeOnes) {
  EXPECT_EQ(WholeQuantity("2000m"), 2);
  EXPECT_EQ(WholeQuantity("3000000000n"), 3);
  EXPECT_EQ(WholeQuantity("1500m"), std::nullopt);
  EXPECT_EQ(WholeQuantity("0m"), 0);
}

TEST(WholeQuantity, AFractionIsNone) {
  for (const char* text : {"1.5", "0.1Ki", "1u", "1e-1", "0.0001k"}) {
    EXPECT_EQ(WholeQuantity(text), std::nullopt) << text;
  }
}

TEST(WholeQuantity, WhatAnInt64DoesNotHoldIsNone) {
  EXPECT_EQ(WholeQuantity("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(WholeQuantity("-9223372036854775808"), INT64_MIN);
  for (const char* text : {"9223372036854775808", "10E", "8Ei", "1e99", "1e32767", "1e99999"}) {
    EXPECT_EQ(WholeQuantity(text), std::nullopt) << text;
  }
}

TEST(WholeQuantity, OtherTextIsNone) {
  for (const char* text : {"", "-", "+", ".", "k", "1 ", " 1", "1K", "1ki", "1kk", "1e", "1e+",
                           "1e+-3", "1.2.3", "0x10", "one", "+-1", "1,000"}) {
    EXPECT_EQ(WholeQuantity(text), std::nullopt) << text;
  }
}

TEST(WholeQuantity, HoweverItIsWrittenItIsTheSame) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 2'000; ++round) {
    const auto number = static_cast<int64_t>(random() % 2'000'000) - 1'000'000;
    ASSERT_EQ(WholeQuantity(fmt::format("{}", number)), number);
    ASSERT_EQ(WholeQuantity(fmt::format("{}000m", number)), number);
    ASSERT_EQ(WholeQuantity(fmt::format("{}e-3", number * 1'000)), number);
    ASSERT_EQ(WholeQuantity(fmt::format("{}k", number)), number * 1'000);
    ASSERT_EQ(WholeQuantity(fmt::format("{}Mi", number)), number << 20);
  }
}

}  // namespace
}  // namespace tessera
