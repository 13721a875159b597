// SPDX-License-Identifier: Apache-2.0
// Devices as tiles: their size, number in a row, and content. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/demo/frame.h"
#include "sim/demo/picture.h"

namespace tessera::demo {

// One size for all tiles on the screen.
struct Grid {
  int per_row = 16;
  int width = 4;       // columns of a tile
  int height = 2;      // lines of a tile
  int gap = 0;         // empty lines between rows
  bool spaced = true;  // an empty column between tiles

  // The lines that `tiles` tiles take.
  int LinesFor(size_t tiles) const;
};

// The largest tiles with which all panels fit into these columns and lines; the smallest, if none
// fit.
Grid PlanGrid(const std::vector<Panel>& panels, int columns, int lines);

// The panel's tiles, at most `lines` lines.
std::vector<TextLine> TileLines(const Panel& panel, const Grid& grid, const Screen& screen,
                                Duration now, int lines);

// A tile state's sign: one column.
std::string_view Sign(TileState state, bool unicode);
Style StyleOf(TileState state);

// A pod's name in `columns` columns. A longer name becomes its start and the part that
// distinguishes it from its siblings: "job-12" -> "jo12", "train-a" -> "tr-a".
std::string ShortPod(std::string_view pod, int columns);
// The pod's colour, so that neighbours differ.
uint8_t HueOf(std::string_view pod);
inline constexpr uint8_t kHues = 8;

}  // namespace tessera::demo
