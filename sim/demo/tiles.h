// SPDX-License-Identifier: Apache-2.0
// Devices as tiles: how large, how many in a row, what stands in each. Pure; any thread.
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

  // Lines that so many tiles take.
  int LinesFor(size_t tiles) const;
};

// The largest tiles with which all panels fit into so many columns and lines; the smallest there
// are, when nothing fits.
Grid PlanGrid(const std::vector<Panel>& panels, int columns, int lines);

// The panel's tiles, at most `lines` lines.
std::vector<TextLine> TileLines(const Panel& panel, const Grid& grid, const Screen& screen,
                                Duration now, int lines);

// A tile state's sign: one column.
std::string_view Sign(TileState state, bool unicode);
Style StyleOf(TileState state);

// A pod's name in so few columns: whole, else its beginning and what tells it from its siblings:
// "job-12" -> "jo12", "train-a" -> "tr-a".
std::string ShortPod(std::string_view pod, int columns);
// Which of the colours a pod is shown in, so that neighbours differ.
uint8_t HueOf(std::string_view pod);
inline constexpr uint8_t kHues = 8;

}  // namespace tessera::demo
