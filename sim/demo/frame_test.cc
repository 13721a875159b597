// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/frame.h"

#include <gtest/gtest.h>

namespace tessera::demo {
namespace {

TEST(Line, ClipsByCharactersNotBytes) {
  TextLine line = TextLine().Add(Style::kPlain, "■■").Add(Style::kBad, "■■");
  line.ClipTo(3);
  EXPECT_EQ(line.Plain(), "■■■");
  EXPECT_EQ(line.columns(), 3);
  line.ClipTo(2);
  EXPECT_EQ(line.Plain(), "■■");
  EXPECT_EQ(line.spans().size(), 1u);
}

TEST(Line, SpansOfOneInkAreOne) {
  const TextLine line =
      TextLine().Add(Style::kBad, "a").Add(Style::kBad, "b").Add(Style::kGood, "c");
  ASSERT_EQ(line.spans().size(), 2u);
  EXPECT_EQ(line.spans()[0].text, "ab");
}

TEST(Line, PadsUpToAColumnAndNoFurther) {
  TextLine line = TextLine().Add(Style::kGood, "ab");
  line.PadTo(4).Add(Style::kGood, "c").PadTo(3);
  EXPECT_EQ(line.Plain(), "ab  c");
  EXPECT_EQ(line.columns(), 5);
}

TEST(Line, PlainTextEndsWithItsLastLetter) {
  EXPECT_EQ(TextLine().Add(Style::kPlain, " a  ").Plain(), " a");
}

TEST(Fit, CutsOrFills) {
  EXPECT_EQ(Fit("■■■", 2), "■■");
  EXPECT_EQ(Fit("■", 3), "■  ");
  EXPECT_EQ(Fit("abc", 0), "");
}

TEST(Columns, CountsCharacters) {
  EXPECT_EQ(Columns("a■b"), 3);
}

}  // namespace
}  // namespace tessera::demo
