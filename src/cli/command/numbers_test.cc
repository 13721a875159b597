// SPDX-License-Identifier: Apache-2.0
#include "cli/command/numbers.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(ParseNumber, TakesWholeTexts) {
  EXPECT_EQ(ParseNumber<double>("2.5"), 2.5);
  EXPECT_EQ(ParseNumber<int>("-3"), -3);
}

TEST(ParseNumber, AnythingElseIsNothing) {
  for (const char* text : {"", "x", "2x", " 2", "2 ", "nan", "inf", "1e999"}) {
    EXPECT_EQ(ParseNumber<double>(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseNumber<int>("2.5"), std::nullopt);
  EXPECT_EQ(ParseNumber<int>("99999999999"), std::nullopt);
}

}  // namespace
}  // namespace tessera::cli
