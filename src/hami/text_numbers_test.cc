// SPDX-License-Identifier: Apache-2.0
#include "hami/text_numbers.h"

#include <gtest/gtest.h>

namespace tessera::hami {
namespace {

TEST(ParseInt32, ReadsWhatGoReads) {
  EXPECT_EQ(ParseInt32("0"), 0);
  EXPECT_EQ(ParseInt32("+7"), 7);
  EXPECT_EQ(ParseInt32("-2147483648"), INT32_MIN);
  EXPECT_EQ(ParseInt32("2147483647"), INT32_MAX);
  EXPECT_EQ(ParseInt32("007"), 7);
}

TEST(ParseInt32, RefusesWhatGoRefuses) {
  for (const char* text : {"", "+", "-", "+-1", "2147483648", "1 ", " 1", "1.0", "0x1", "1_000"}) {
    EXPECT_EQ(ParseInt32(text), std::nullopt) << text;
  }
}

TEST(ParseBool, ReadsWhatGoReads) {
  for (const char* text : {"1", "t", "T", "TRUE", "true", "True"}) {
    EXPECT_EQ(ParseBool(text), true) << text;
  }
  for (const char* text : {"0", "f", "F", "FALSE", "false", "False"}) {
    EXPECT_EQ(ParseBool(text), false) << text;
  }
  for (const char* text : {"", "yes", "tRUE", "2"}) EXPECT_EQ(ParseBool(text), std::nullopt);
}

}  // namespace
}  // namespace tessera::hami
