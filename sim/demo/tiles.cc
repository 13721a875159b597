// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/tiles.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>
#include "base/characters.h"

namespace tessera::demo {
namespace {

// How long a change is highlighted.
constexpr Duration kFlash{350};
// Least widths: kWide has room for a reason (three lines), kNarrow for an id and a sign (two).
constexpr int kWide = 8;
constexpr int kNarrow = 4;
// A bar at least this wide has its name and percentage next to it.
constexpr int kSpelled = 16;
// The most wide tiles in a row, as most nodes have this many GPUs.
constexpr int kFew = 8;

struct Shape {
  int height;
  int gap;
};
constexpr std::array kShapes = {Shape{4, 1}, Shape{4, 0}, Shape{3, 1}, Shape{3, 0},
                                Shape{2, 1}, Shape{2, 0}, Shape{1, 0}};
// The fourth line has the reason, below a GPU's memory and compute time.
constexpr int kTallest = 4;

int LinesOf(const std::vector<Panel>& panels, const Grid& grid) {
  int lines = 0;
  for (const Panel& panel : panels) lines += grid.LinesFor(panel.tiles.size());
  return lines;
}

Ink InkOf(const Tile& tile, const std::string& pod, Duration now) {
  Ink ink{StyleOf(tile.state)};
  // A device's cells can belong to different pods, or be free.
  if (ink.style == Style::kTileHeld && pod.empty()) ink.style = Style::kTileFree;
  if (ink.style == Style::kTileHeld) ink.hue = HueOf(pod);
  ink.flash = now - tile.changed < kFlash && tile.changed > Duration(0);
  return ink;
}

// The cells of a divided device, side by side; too many become a count.
TextLine CellLine(const Tile& tile, const Grid& grid, const Screen& screen, Duration now) {
  TextLine line;
  const int cells = static_cast<int>(tile.cells.size());
  const int width = grid.width / cells;
  if (width == 0) {
    return std::move(
        line.Add(InkOf(tile, "", now), Fit(fmt::format("{}/{}", tile.held(), cells), grid.width)));
  }
  const std::string_view held = screen.unicode ? "█" : "#";
  const std::string_view free = screen.unicode ? "░" : ".";
  for (const Cell& cell : tile.cells) {
    line.Add(InkOf(tile, cell.pod, now), Repeat(cell.pod.empty() ? free : held, width));
  }
  return std::move(line.Add(InkOf(tile, "", now), Repeat(" ", grid.width - line.columns())));
}

// The granted part of a GPU's memory or compute time, by pod.
TextLine PartLine(const Tile& tile, bool memory, const Grid& grid, const Screen& screen,
                  Duration now) {
  const bool spelled = grid.width >= kSpelled;
  const int64_t whole = memory ? tile.memory : 100;
  std::string name;
  if (grid.width >= kWide) name = memory ? "m" : "c";
  if (spelled) name = memory ? "memory  " : "compute ";
  TextLine line;
  line.Add(InkOf(tile, "", now), name);
  const int columns = grid.width - Columns(name) - (spelled ? 5 : 0);
  int64_t granted = 0;
  int drawn = 0;
  for (const PodUse& taken : tile.taken) {
    granted += memory ? taken.memory : taken.cores;
    const int64_t rounded = (granted * columns + whole / 2) / whole;
    const int end = static_cast<int>(std::clamp<int64_t>(rounded, drawn, columns));
    line.Add(InkOf(tile, taken.pod, now), Repeat(screen.unicode ? "█" : "#", end - drawn));
    drawn = end;
  }
  line.Add(InkOf(tile, "", now), Repeat(screen.unicode ? "░" : ".", columns - drawn));
  if (spelled) line.Add(InkOf(tile, "", now), fmt::format("{:>4}%", granted * 100 / whole));
  return line;
}

TextLine TileLine(const Tile& tile, int index, const Grid& grid, const Screen& screen,
                  Duration now) {
  const bool divided = tile.cells.size() > 1;
  const std::string pod = divided || tile.cells.empty() ? "" : tile.cells.front().pod;
  const Ink ink =
      divided && tile.state == TileState::kHeld ? InkOf(tile, "", now) : InkOf(tile, pod, now);
  const std::string_view sign = Sign(tile.state, screen.unicode);
  TextLine line;
  if (grid.width == 1) return std::move(line.Add(ink, std::string(sign)));
  if (index == 0) {
    return std::move(line.Add(ink, Fit(tile.label, grid.width - 1) + std::string(sign)));
  }
  const bool sized = tile.memory > 0;
  if (sized && (index == 1 || index == 2)) return PartLine(tile, index == 1, grid, screen, now);
  if (index == 1 && divided) return CellLine(tile, grid, screen, now);
  if (index == 1 && !pod.empty())
    return std::move(line.Add(ink, Fit(ShortPod(pod, grid.width), grid.width)));
  const bool room = grid.width >= kWide;
  const bool reason_here = index == (sized ? 3 : 2) || (grid.height == 2 && pod.empty());
  return std::move(line.Add(ink, Fit(room && reason_here ? tile.why : "", grid.width)));
}

}  // namespace

int Grid::LinesFor(size_t tiles) const {
  if (tiles == 0) return 0;
  const int rows = (static_cast<int>(tiles) + per_row - 1) / per_row;
  return rows * height + (rows - 1) * gap;
}

Grid PlanGrid(const std::vector<Panel>& panels, int columns, int lines) {
  const bool few = std::ranges::all_of(
      panels, [](const Panel& panel) { return std::cmp_less_equal(panel.tiles.size(), kFew); });
  const bool sized = std::ranges::any_of(panels, [](const Panel& panel) {
    return std::ranges::any_of(panel.tiles, [](const Tile& tile) { return tile.memory > 0; });
  });
  for (int per_row : few ? std::array{kFew, 16, 32, 64} : std::array{16, kFew, 32, 64}) {
    // Each tile has an empty column on its left.
    const int width = columns / per_row - 1;
    if (width < kNarrow) continue;
    for (const Shape& shape : kShapes) {
      if (shape.height >= 3 && width < kWide) continue;
      if (shape.height == kTallest && !sized) continue;
      const Grid grid{.per_row = per_row, .width = width, .height = shape.height, .gap = shape.gap};
      if (LinesOf(panels, grid) <= lines) return grid;
    }
  }
  return {.per_row = std::max(columns - 2, 1), .width = 1, .height = 1, .gap = 0, .spaced = false};
}

std::vector<TextLine> TileLines(const Panel& panel, const Grid& grid, const Screen& screen,
                                Duration now, int lines) {
  std::vector<TextLine> out;
  const auto per_row = static_cast<size_t>(grid.per_row);
  for (size_t first = 0; first < panel.tiles.size(); first += per_row) {
    const size_t end = std::min(first + per_row, panel.tiles.size());
    if (first > 0) out.resize(out.size() + static_cast<size_t>(grid.gap));
    for (int index = 0; index < grid.height; ++index) {
      TextLine line;
      line.PadTo(1);
      for (size_t i = first; i < end; ++i) {
        if (grid.spaced && i > first) line.Add(Style::kPlain, " ");
        line.Append(TileLine(panel.tiles[i], index, grid, screen, now));
      }
      out.push_back(std::move(line));
    }
  }
  if (out.size() > static_cast<size_t>(lines)) out.resize(static_cast<size_t>(std::max(lines, 0)));
  return out;
}

std::string_view Sign(TileState state, bool unicode) {
  switch (state) {
    case TileState::kFree:
      return unicode ? "·" : ".";
    case TileState::kHeld:
      return unicode ? "■" : "*";
    case TileState::kSuspect:
      return "!";
    case TileState::kUnhealthy:
      return unicode ? "✗" : "x";
    case TileState::kCordoned:
      return unicode ? "⊘" : "-";
    case TileState::kUnknown:
      return "?";
  }
  return " ";
}

Style StyleOf(TileState state) {
  switch (state) {
    case TileState::kFree:
      return Style::kTileFree;
    case TileState::kHeld:
      return Style::kTileHeld;
    case TileState::kSuspect:
      return Style::kTileSuspect;
    case TileState::kUnhealthy:
      return Style::kTileUnhealthy;
    case TileState::kCordoned:
      return Style::kTileCordoned;
    case TileState::kUnknown:
      return Style::kTileUnknown;
  }
  return Style::kPlain;
}

std::string ShortPod(std::string_view pod, int columns) {
  const auto room = static_cast<size_t>(std::max(columns, 0));
  if (pod.size() <= room) return std::string(pod);
  size_t end = pod.size();
  while (end > 0 && IsDigit(pod[end - 1])) --end;
  // No number: a single letter after a dash.
  if (end == pod.size() && end > 1 && pod[end - 2] == '-') end -= 2;
  const std::string_view tail = pod.substr(end);
  if (tail.size() >= room) return std::string(tail.substr(tail.size() - room));
  return std::string(pod.substr(0, room - tail.size())) + std::string(tail);
}

uint8_t HueOf(std::string_view pod) {
  // FNV-1a gives the same colours on every machine, so recordings look alike.
  uint32_t hash = 2'166'136'261u;
  for (char c : pod) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619u;
  return static_cast<uint8_t>((hash ^ (hash >> 16)) % kHues);
}

}  // namespace tessera::demo
