// SPDX-License-Identifier: Apache-2.0
#include "cli/layout.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

const std::vector<Column> kColumns = {{"NAME"}, {"SIZE", true}, {"NOTE", false, true}};

TEST(Table, ColumnsAreAsWideAsTheirTexts) {
  EXPECT_EQ(Table(kColumns, {{{"a"}, {"1"}, {"first"}}, {{"longer"}, {"1000"}, {""}}}, {}),
            "NAME    SIZE  NOTE\n"
            "a          1  first\n"
            "longer  1000\n");
}

TEST(Table, ColumnsWithoutTextAreLeftOut) {
  EXPECT_EQ(Table(kColumns, {{{"a"}, {""}, {"first"}}}, {}),
            "NAME  NOTE\n"
            "a     first\n");
}

TEST(Table, FlexibleColumnsAreCutToFit) {
  EXPECT_EQ(Table(kColumns, {{{"a"}, {"1"}, {"twelve letters"}}}, {.columns = 22, .color = false}),
            "NAME  SIZE  NOTE\n"
            "a        1  twelve le…\n");
}

TEST(Table, NothingIsCutWhereTheWidthIsUnknown) {
  std::string note(500, 'x');

  EXPECT_EQ(Table({{"NOTE", false, true}}, {{{note}}}, {}), "NOTE\n" + note + "\n");
}

TEST(Table, ColoursTakeNoSpace) {
  EXPECT_EQ(Table(kColumns, {{{"ok", Tone::kGood}, {"1"}, {"x"}}}, {.columns = 80, .color = true}),
            "\x1b[1mNAME\x1b[0m  \x1b[1mSIZE\x1b[0m  \x1b[1mNOTE\x1b[0m\n"
            "\x1b[32mok\x1b[0m       1  x\n");
}

TEST(Elide, CountsCharactersAndNotBytes) {
  EXPECT_EQ(Elide("größe", 5), "größe");
  EXPECT_EQ(Elide("größe", 4), "grö…");
  EXPECT_EQ(Elide("größe", 1), "…");
}

}  // namespace
}  // namespace tessera::cli
