// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/tiles.h"

#include <gtest/gtest.h>

namespace tessera::demo {
namespace {

Panel PanelOf(size_t tiles) {
  Panel panel;
  panel.tiles.resize(tiles);
  return panel;
}

TEST(Grid, SixtyFourTilesFitEightyColumns) {
  const Grid grid = PlanGrid({PanelOf(64)}, 80, 13);
  EXPECT_EQ(grid.per_row, 16);
  EXPECT_EQ(grid.width, 4);
  EXPECT_EQ(grid.height, 2);
  EXPECT_EQ(grid.LinesFor(64), 11);
}

TEST(Grid, GapsGoFirstWhenLinesAreFew) {
  EXPECT_EQ(PlanGrid({PanelOf(64)}, 80, 10).LinesFor(64), 8);
  EXPECT_EQ(PlanGrid({PanelOf(64)}, 80, 5).LinesFor(64), 4);
}

TEST(Grid, WideScreenHasRoomForThreeLines) {
  const Grid grid = PlanGrid({PanelOf(64), PanelOf(8)}, 200, 35);
  EXPECT_EQ(grid.per_row, 16);
  EXPECT_EQ(grid.width, 11);
  EXPECT_EQ(grid.height, 3);
}

TEST(Grid, AFewTilesFillTheirRow) {
  const Grid grid = PlanGrid({PanelOf(8), PanelOf(2)}, 80, 13);
  EXPECT_EQ(grid.per_row, 8);
  EXPECT_EQ(grid.width, 9);
  EXPECT_EQ(grid.height, 3);
}

TEST(Grid, TooManyTilesBecomeDots) {
  const Grid grid = PlanGrid({PanelOf(1'000)}, 80, 14);
  EXPECT_EQ(grid.width, 1);
  EXPECT_LE(grid.LinesFor(1'000), 14);
}

TEST(ShortPod, KeepsWhatTellsItFromItsSiblings) {
  EXPECT_EQ(ShortPod("web", 4), "web");
  EXPECT_EQ(ShortPod("job-12", 4), "jo12");
  EXPECT_EQ(ShortPod("train-a", 4), "tr-a");
  EXPECT_EQ(ShortPod("notebook", 4), "note");
  EXPECT_EQ(ShortPod("job-12345", 4), "2345");
}

TEST(TileLines, NameWithReplicasShowsEachOfThem) {
  Panel panel = PanelOf(1);
  panel.tiles[0] = {.id = "7",
                    .label = "7",
                    .state = TileState::kHeld,
                    .why = "",
                    .cells = {{"a"}, {""}, {"b"}, {""}}};
  const Grid grid{.per_row = 16, .width = 4, .height = 2, .gap = 0};
  const std::vector<TextLine> lines = TileLines(panel, grid, {.unicode = true}, Duration(0), 9);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].Plain(), " 7  ■");
  EXPECT_EQ(lines[1].Plain(), " █░█░");
}

TEST(TileLines, MoreReplicasThanColumnsAreCounted) {
  Panel panel = PanelOf(1);
  panel.tiles[0] = {
      .id = "7", .label = "7", .state = TileState::kHeld, .why = "", .cells = std::vector<Cell>(9)};
  panel.tiles[0].cells[0].pod = "a";
  const Grid grid{.per_row = 16, .width = 4, .height = 2, .gap = 0};
  EXPECT_EQ(TileLines(panel, grid, {}, Duration(0), 9)[1].Plain(), " 1/9");
}

Panel Sized() {
  Panel panel = PanelOf(1);
  panel.tiles[0] = {.id = "7",
                    .label = "7",
                    .state = TileState::kHeld,
                    .why = "check-failed",
                    .cells = {{"a"}, {""}, {"b"}, {"b"}},
                    .memory = 1000,
                    .taken = {{"a", 250, 10}, {"b", 500, 20}}};
  return panel;
}

TEST(TileLines, VirtualGpusAreABarOfMemoryAndOneOfComputeTime) {
  const Grid grid{.per_row = 8, .width = 9, .height = 4, .gap = 0};
  const std::vector<TextLine> lines = TileLines(Sized(), grid, {.unicode = true}, Duration(0), 9);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].Plain(), " 7       ■");
  EXPECT_EQ(lines[1].Plain(), " m██████░░");
  EXPECT_EQ(lines[2].Plain(), " c██░░░░░░");
  EXPECT_EQ(lines[3].Plain(), " check-fai");
  EXPECT_EQ(lines[1].spans()[2].ink.hue, HueOf("a"));
  EXPECT_EQ(lines[1].spans()[3].ink.hue, HueOf("b"));
}

TEST(TileLines, WideBarsSayTheirNameAndPercentage) {
  const Grid grid{.per_row = 8, .width = 23, .height = 4, .gap = 0};
  const std::vector<TextLine> lines = TileLines(Sized(), grid, {.unicode = false}, Duration(0), 9);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1].Plain(), " memory  ########..  75%");
  EXPECT_EQ(lines[2].Plain(), " compute ###.......  30%");
}

TEST(TileLines, NarrowBarsHaveNoName) {
  const Grid grid{.per_row = 16, .width = 4, .height = 2, .gap = 0};
  EXPECT_EQ(TileLines(Sized(), grid, {.unicode = true}, Duration(0), 9)[1].Plain(), " ███░");
}

TEST(Grid, OnlyVirtualGpusTakeAFourthLine) {
  EXPECT_EQ(PlanGrid({Sized()}, 80, 13).height, 4);
  EXPECT_EQ(PlanGrid({Sized()}, 80, 3).height, 3);
  EXPECT_EQ(PlanGrid({PanelOf(1)}, 80, 13).height, 3);
}

TEST(TileLines, ChangeIsHighlightedForAMoment) {
  Panel panel = PanelOf(1);
  panel.tiles[0] = {.id = "7",
                    .label = "7",
                    .state = TileState::kFree,
                    .why = "",
                    .cells = {{""}},
                    .changed = Duration(1'000)};
  const Grid grid{.per_row = 16, .width = 4, .height = 1, .gap = 0};
  const auto flashes = [&](Duration now) {
    return TileLines(panel, grid, {}, now, 9)[0].spans()[1].ink.flash;
  };
  EXPECT_TRUE(flashes(Duration(1'100)));
  EXPECT_FALSE(flashes(Duration(2'000)));
}

}  // namespace
}  // namespace tessera::demo
