// SPDX-License-Identifier: Apache-2.0
#include "card/time/cells.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::card {
namespace {

std::vector<std::string> NamesOf(const std::string& words) {
  std::vector<std::string> unknown, names;
  for (const Cell& cell : Choose(words, &unknown)) names.push_back(cell.name);
  for (const std::string& word : unknown) names.push_back("unknown " + word);
  return names;
}

TEST(CardCellsTest, ANameSaysContainersAgentAndKernels) {
  const auto cell = CellNamed("10x4:90+agent@50000");
  ASSERT_TRUE(cell);
  ASSERT_EQ(cell->containers.size(), 2U);
  EXPECT_EQ(cell->containers[0].percent, 10);
  EXPECT_EQ(cell->containers[0].processes, 4);
  EXPECT_EQ(cell->containers[1].percent, 90);
  EXPECT_EQ(cell->containers[1].processes, 1);
  EXPECT_TRUE(cell->agent);
  EXPECT_EQ(cell->us, 50'000U);
}

TEST(CardCellsTest, WhatIsNoNameIsSaid) {
  for (const char* name :
       {"", "30", "30@", "@20", "30x0@20", "101@20", "x@20", "30x9@20", "30@0"}) {
    EXPECT_FALSE(CellNamed(name)) << name;
  }
  EXPECT_EQ(NamesOf("30x4"), std::vector<std::string>{"unknown 30x4"});
}

TEST(CardCellsTest, ACellComesAfterTheLoadThatItIsComparedWith) {
  const std::vector<std::string> names = {"0x4@2000", "30x4@2000", "0x1@200", "30:60@200"};
  EXPECT_EQ(NamesOf("30x4@2000 30:60@200 30x4@2000"), names);
  const auto all = NamesOf("all");
  EXPECT_LT(std::find(all.begin(), all.end(), "0x1@20"),
            std::find(all.begin(), all.end(), "10x1@20"));
}

TEST(CardCellsTest, FortyCellsAreTheDefaultAndTheRestAreTheOthers) {
  const auto cells = NamesOf("");
  EXPECT_EQ(cells.size(), 40U);
  EXPECT_EQ(cells, NamesOf("default"));
  const auto all = NamesOf("all");
  for (const char* kernel : {"20", "200", "2000", "50000"}) {
    for (const char* load :
         {"0x1", "10x1", "30x1", "50x1", "90x1", "0x4", "10x4", "30x4", "50x4", "90x4", "0:0",
          "30:60", "10:80", "10:90", "30:60+agent", "10:80+agent", "10:90+agent"}) {
      const std::string name = std::string(load) + "@" + kernel;
      EXPECT_EQ(std::count(all.begin(), all.end(), name), 1) << name;
    }
  }
  EXPECT_EQ(all.size(), 68U);
  for (const std::string& name : NamesOf("rest")) {
    const bool is_default = std::find(cells.begin(), cells.end(), name) != cells.end();
    EXPECT_TRUE(!is_default || name.starts_with("0x")) << name;
  }
}

TEST(CardCellsTest, WhatWasDoneBetweenTwoMarksIsOnALineThroughThem) {
  const std::vector<Mark> marks = {{1000, 0}, {2000, 10}, {4000, 14}};
  EXPECT_EQ(DoneAt(marks, 500), 0);
  EXPECT_EQ(DoneAt(marks, 1500), 5);
  EXPECT_EQ(DoneAt(marks, 2000), 10);
  EXPECT_EQ(DoneAt(marks, 3000), 12);
  EXPECT_EQ(DoneAt(marks, 9000), 14);
  EXPECT_EQ(DoneAt({}, 9000), 0);
}

TEST(CardCellsTest, AShareIsTheTimeOfTheKernelsThatWereDoneInAWindow) {
  // Two processes, each of which does a kernel of 10 ns in 40.
  const std::vector<std::vector<Mark>> processes(2, {{0, 0}, {400, 10}, {800, 20}});
  EXPECT_EQ(SharesOf(processes, 10, 200, 200, 3), limiter::Windows({50, 50, 50}));
}

}  // namespace
}  // namespace tessera::card
