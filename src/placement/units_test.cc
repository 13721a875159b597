// SPDX-License-Identifier: Apache-2.0
#include "placement/units.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

UnitSet Units(std::string_view text) {
  return UnitSet::Parse(text).value();
}
std::string Chosen(int count, int total, std::string_view taken) {
  const auto chosen = ChooseUnits(count, total, Units(taken));
  return chosen ? chosen->Text() : "none";
}

TEST(UnitsTest, TextHasRangesInOrder) {
  EXPECT_EQ(Units("8,0-3,10-12,4").Text(), "0-4,8,10-12");
  EXPECT_EQ(Units("").Text(), "");
  EXPECT_EQ(Units("0-3,2-5").size(), 6);
  EXPECT_EQ(Units("4095").Text(), "4095");
}

TEST(UnitsTest, OtherTextsAreNone) {
  for (const char* text :
       {",", "1,", "3-1", "-1", "a", "1-", "0x1", "4096", "0-99999999999", " 1"}) {
    EXPECT_EQ(UnitSet::Parse(text), std::nullopt) << text;
  }
}

TEST(UnitsTest, SetsOverlapByAnyNumber) {
  EXPECT_TRUE(Units("0-75").Overlaps(Units("75-80")));
  EXPECT_FALSE(Units("0-75").Overlaps(Units("76-80")));
  EXPECT_FALSE(Units("").Overlaps(Units("0-1")));
}

TEST(UnitsTest, UnitsComeFromTheSmallestGapThatHasRoom) {
  EXPECT_EQ(Chosen(76, 304, ""), "0-75");
  EXPECT_EQ(Chosen(76, 304, "0-75"), "76-151");
  EXPECT_EQ(Chosen(4, 304, "10-19,24-303"), "20-23");
  EXPECT_EQ(Chosen(304, 304, ""), "0-303");
}

TEST(UnitsTest, WithoutSuchAGapTheyComeFromSeveral) {
  EXPECT_EQ(Chosen(5, 16, "0-3,6-9,12-13"), "4-5,10-11,14");
}

TEST(UnitsTest, TooFewFreeUnitsAreNone) {
  EXPECT_EQ(Chosen(5, 16, "0-11"), "none");
  EXPECT_EQ(Chosen(1, 0, ""), "none");
  EXPECT_EQ(Chosen(0, 16, "0-15"), "");
}

TEST(UnitsTest, ChosenUnitsNeverOverlapTakenOnes) {
  UnitSet taken;
  int granted = 0;
  for (int count = 1; const auto chosen = ChooseUnits(count, 104, taken); count = count % 7 + 1) {
    EXPECT_FALSE(chosen->Overlaps(taken));
    EXPECT_EQ(chosen->size(), count);
    taken.Add(*chosen);
    granted += count;
  }
  EXPECT_EQ(taken.size(), granted);
  EXPECT_GT(granted, 97);
}

}  // namespace
}  // namespace tessera
