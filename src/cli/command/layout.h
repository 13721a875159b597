// SPDX-License-Identifier: Apache-2.0
// Text in columns. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

// The longest line on any terminal, unless the view has any width.
inline constexpr int kMostColumns = 120;

// The output's properties.
struct View {
  int columns = 0;  // 0: any width, no text is cut or shortened
  bool color = false;
};

// The meaning of a text, shown as colour.
enum class Tone : uint8_t { kPlain, kGood, kWarning, kBad, kQuiet, kTitle };

// `text` in the tone's colour; unchanged if the view has no colours.
std::string Paint(std::string_view text, Tone tone, const View& view);

// The text cut to `columns`, with "…" at its end if it was cut.
std::string Elide(std::string_view text, size_t columns);

// Elide with the "…" in the middle, as names of pods differ at their ends.
std::string ElideMiddle(std::string_view text, size_t columns);

// The text with each UUID shortened to its first part, as people recognise it: "GPU-8a1f1d3c…".
// Unchanged if the view has any width.
std::string Shortened(std::string_view text, const View& view);

// "note: TEXT", broken at spaces to fit the view.
std::string Note(std::string_view text, const View& view);

enum class Cut : uint8_t { kNever, kEnd, kMiddle };

struct Column {
  std::string title;
  bool right = false;     // numbers
  Cut cut = Cut::kNever;  // the way to cut it if the table is wider than the view
};

struct Cell {
  std::string text{};
  Tone tone = Tone::kPlain;
};

// A table: titles, then rows, with two spaces between columns and none at line ends. Columns
// without text are left out. If the table is too wide, the widest columns that may be cut are cut
// first.
std::string Table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                  const View& view);

}  // namespace tessera::cli
