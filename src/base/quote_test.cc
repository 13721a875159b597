// SPDX-License-Identifier: Apache-2.0
#include "base/quote.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Quote, EscapesAsJsonAsks) {
  EXPECT_EQ(Quote("plain"), R"("plain")");
  EXPECT_EQ(Quote("a \"b\" \\ \n\r\t"), R"("a \"b\" \\ \n\r\t")");
  EXPECT_EQ(Quote(std::string_view("\0\x1F\x7F", 3)), R"("\u0000\u001f\u007f")");
}

TEST(Quote, EscapesWhatSteersATerminalOrTurnsText) {
  EXPECT_EQ(Quote("\u0085\u009B2J"), R"("\u0085\u009b2J")");
  EXPECT_EQ(Quote("\u061C\u200E\u2028\u202E\u2066\u2069"),
            R"("\u061c\u200e\u2028\u202e\u2066\u2069")");
  EXPECT_EQ(Quote("\u00A0\u0628\u2010\u202F\u206A"), "\"\u00A0\u0628\u2010\u202F\u206A\"");
}

TEST(Quote, KeepsUtf8) {
  EXPECT_EQ(Quote("\u00E9 \u20AC \U0001F600"), "\"\u00E9 \u20AC \U0001F600\"");
}

TEST(JsonAsYaml, KeepsWhatYamlReads) {
  EXPECT_EQ(JsonAsYaml("{\"a\": \"\u00fc\\n\"}\n"), "{\"a\": \"\u00fc\\n\"}\n");
}

TEST(JsonAsYaml, EscapesWhatYamlRefusesOrFolds) {
  EXPECT_EQ(JsonAsYaml("\"\x7f\xc2\x85\ufeff\uffff\xff\""),
            "\"\\u007f\\u0085\\ufeff\\uffff\uFFFD\"");
}

TEST(ValidUtf8, KeepsWhatIsValid) {
  EXPECT_EQ(ValidUtf8("a\u00E9 \u20AC \U0001F600\n"), "a\u00E9 \u20AC \U0001F600\n");
}

TEST(ValidUtf8, ReplacesEveryByteThatIsNot) {
  const char* const invalid[] = {
      "\xFF",  // never
      "\x80",  // a continuation of nothing
      "\xC3",  // cut off
      "\xC0",  // overlong
      "\xF5",  // beyond the last plane
  };
  for (const char* bytes : invalid) EXPECT_EQ(ValidUtf8(bytes), "\uFFFD") << bytes;
  EXPECT_EQ(ValidUtf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(ValidUtf8("\xE0\x80\x80x"), "\uFFFD\uFFFD\uFFFDx");
  EXPECT_EQ(ValidUtf8("\xC3("), "\uFFFD(");
}

TEST(Brief, APlainNameStaysAsItIs) {
  EXPECT_EQ(Brief("GPU-1::0"), "GPU-1::0");
}

TEST(Brief, WhatIsNotPlainIsQuoted) {
  EXPECT_EQ(Brief(""), "\"\"");
  EXPECT_EQ(Brief("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(Brief("\xff"), "\"\xEF\xBF\xBD\"");
}

TEST(Brief, ALongNameIsCut) {
  EXPECT_EQ(Brief(std::string(1'000'000, 'x')),
            "\"" + std::string(64, 'x') + "\"... (1000000 bytes)");
}

}  // namespace
}  // namespace tessera
