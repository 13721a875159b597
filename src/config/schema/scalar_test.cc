// SPDX-License-Identifier: Apache-2.0
#include "config/schema/scalar.h"

#include <gtest/gtest.h>

namespace tessera::config {
namespace {

TEST(ReadBool, KnowsTheTwoWordsOfYaml) {
  EXPECT_TRUE(*ReadBool("true"));
  EXPECT_FALSE(*ReadBool("false"));
}

TEST(ReadBool, SaysWhatWasProbablyMeant) {
  for (const char* text : {"yes", "On", "TRUE", "1"}) {
    ASSERT_FALSE(ReadBool(text)) << text;
    EXPECT_EQ(ReadBool(text).error().suggestion, "true") << text;
  }
  EXPECT_EQ(ReadBool("off").error().suggestion, "false");
  EXPECT_EQ(ReadBool("maybe").error().suggestion, "");
}

TEST(ReadInt, TakesPlainNumbersInRange) {
  EXPECT_EQ(*ReadInt("-5", -5, 5), -5);
  EXPECT_EQ(*ReadInt("5", -5, 5), 5);
}

TEST(ReadInt, OutOfRangeIsABadValueAndTheRestAWrongType) {
  EXPECT_EQ(ReadInt("6", -5, 5).error().reason, Reason::kConfigBadValue);
  EXPECT_EQ(ReadInt("99999999999999999999", -5, 5).error().reason, Reason::kConfigBadValue);
  for (const char* text : {"", "5.0", "0x5", "+5", " 5", "5 ", "1e3", "five"}) {
    ASSERT_FALSE(ReadInt(text, 0, 1000)) << text;
    EXPECT_EQ(ReadInt(text, 0, 1000).error().reason, Reason::kConfigWrongType) << text;
  }
}

TEST(ReadNumber, TakesFiniteNumbers) {
  EXPECT_EQ(*ReadNumber("2.5"), 2.5);
  EXPECT_EQ(*ReadNumber("4"), 4);
  for (const char* text : {"", "x", "nan", "inf", "1.5x", "1e999"}) {
    EXPECT_FALSE(ReadNumber(text)) << text;
  }
}

TEST(ReadDecimal, TakesNumbersAboveItsFirstAndUpToItsLast) {
  EXPECT_EQ(*ReadDecimal("1.8", 0, 100), 1.8);
  EXPECT_EQ(*ReadDecimal("100", 0, 100), 100);
  for (const char* text : {"0", "-1", "100.001"}) {
    ASSERT_FALSE(ReadDecimal(text, 0, 100)) << text;
    EXPECT_EQ(ReadDecimal(text, 0, 100).error().reason, Reason::kConfigBadValue) << text;
  }
  const Parsed<double> text = ReadDecimal("1,8", 0, 100);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().reason, Reason::kConfigWrongType);
  EXPECT_EQ(text.error().message, "takes a number above 0 and up to 100, not '1,8'");
}

TEST(ReadTime, TakesTimesInRange) {
  EXPECT_EQ(*ReadTime("2m", Duration(0), Duration(120'000)), Duration(120'000));
  const Parsed<Duration> above = ReadTime("3m", Duration(0), Duration(120'000));
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().reason, Reason::kConfigBadValue);
  EXPECT_EQ(above.error().message, "takes a time from 0s to 2m, not '3m'");
  EXPECT_FALSE(ReadTime("2", Duration(0), Duration(120'000)));
}

TEST(ReadOneOf, SuggestsTheClosest) {
  const std::vector<std::string> values = {"whole", "replicas"};
  EXPECT_EQ(*ReadOneOf("whole", values), "whole");
  EXPECT_EQ(ReadOneOf("replica", values).error().suggestion, "replicas");
  EXPECT_EQ(ReadOneOf("mps", values).error().message, "takes 'whole' or 'replicas', not 'mps'");
}

TEST(Listed, ReadsAsASentence) {
  EXPECT_EQ(Listed(std::vector<std::string>{"a"}), "'a'");
  EXPECT_EQ(Listed(std::vector<std::string>{"a", "b"}), "'a' or 'b'");
  EXPECT_EQ(Listed(std::vector<std::string>{"a", "b", "c"}), "'a', 'b' or 'c'");
}

}  // namespace
}  // namespace tessera::config
