// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/ansi.h"

#include <gtest/gtest.h>

namespace tessera::demo {
namespace {

TextLine PlainOf(std::string text) {
  return TextLine().Add(Style::kPlain, std::move(text));
}

TEST(Encode, InkIsSetAndReset) {
  const TextLine line =
      TextLine().Add(Style::kPlain, "a").Add(Style::kBad, "b").Add(Style::kPlain, "c");
  EXPECT_EQ(Encode(line, true), "a\x1b[0;38;5;203mb\x1b[0mc");
  EXPECT_EQ(Encode(line, false), "abc");
}

TEST(Encode, BoldStaysWithoutColour) {
  EXPECT_EQ(Encode(TextLine().Add(Style::kStory, "a"), false), "\x1b[0;1ma\x1b[0m");
}

TEST(Difference, OnlyChangedLinesAreWritten) {
  const Frame before = {PlainOf("a"), PlainOf("b")};
  const Frame after = {PlainOf("a"), PlainOf("c")};
  EXPECT_EQ(Difference(before, after, true), "\x1b[?2026h\x1b[2;1H\x1b[2Kc\x1b[?2026l");
  EXPECT_EQ(Difference(after, after, true), "");
}

TEST(Difference, UnknownScreenIsWrittenWhole) {
  EXPECT_EQ(Difference({}, {PlainOf("a")}, true),
            "\x1b[?2026h\x1b[1;1H\x1b[2Ka\x1b[2;1H\x1b[0J\x1b[?2026l");
}

}  // namespace
}  // namespace tessera::demo
