// SPDX-License-Identifier: Apache-2.0
#include "cli/command/layout.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

const std::vector<Column> kColumns = {{"NAME"}, {"SIZE", true}, {"NOTE", false, Cut::kEnd}};

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

  EXPECT_EQ(Table({{"NOTE", false, Cut::kEnd}}, {{{note}}}, {}), "NOTE\n" + note + "\n");
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

TEST(Table, NamesOfPodsAreCutInTheirMiddle) {
  EXPECT_EQ(Table({{"POD", false, Cut::kMiddle}}, {{{"default/trainer-7d9f-x2k4p"}}},
                  {.columns = 15, .color = false}),
            "POD\ndefault…f-x2k4p\n");
}

TEST(ElideMiddle, CountsCharactersAndNotBytes) {
  EXPECT_EQ(ElideMiddle("größe", 5), "größe");
  EXPECT_EQ(ElideMiddle("größte", 5), "gr…te");
  EXPECT_EQ(ElideMiddle("größte", 2), "g…");
}

TEST(Shortened, AUuidIsItsFirstPart) {
  const View view{.columns = 80};
  EXPECT_EQ(Shortened("nvidia.com/gpu/GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42", view),
            "nvidia.com/gpu/GPU-8a1f1d3c…");
  EXPECT_EQ(Shortened("MIG-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42::3", view), "MIG-8a1f1d3c…::3");
  EXPECT_EQ(Shortened("MIG-GPU-8A1F1D3C-5f0e-4a1b-9c55-0d2f6b1e7a42/1/0", view),
            "MIG-GPU-8A1F1D3C…/1/0");
  EXPECT_EQ(Shortened("8a1f1d3c-5f0e-4a1b-9c55", view), "8a1f1d3c-5f0e-4a1b-9c55");
  EXPECT_EQ(Shortened("GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42", {}),
            "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42");
}

TEST(Note, IsBrokenToFit) {
  EXPECT_EQ(Note("one two three", {.columns = 13, .color = false}), "note: one two\nthree\n");
}

}  // namespace
}  // namespace tessera::cli
