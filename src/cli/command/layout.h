// SPDX-License-Identifier: Apache-2.0
// Text in columns. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

// Lines are no longer than this, whatever the terminal, but where everything is asked for.
inline constexpr int kMostColumns = 120;

// Where text is going.
struct View {
  int columns = 0;  // 0: any width, nothing is cut nor shortened
  bool color = false;
};

// What a text says about the thing it stands for; shown as colour.
enum class Tone : uint8_t { kPlain, kGood, kWarning, kBad, kQuiet, kTitle };

// `text` in the tone's colour, or as it is where there are no colours.
std::string Paint(std::string_view text, Tone tone, const View& view);

// The text cut to `columns`, with "…" at its end when something was cut.
std::string Elide(std::string_view text, size_t columns);

// The same with "…" in its middle: names of pods differ at their ends.
std::string ElideMiddle(std::string_view text, size_t columns);

// The text with each UUID in it shortened to its first part, as people recognise it:
// "GPU-8a1f1d3c…". As it is where the view has any width.
std::string Shortened(std::string_view text, const View& view);

// "note: TEXT", broken at spaces to fit the view.
std::string Note(std::string_view text, const View& view);

enum class Cut : uint8_t { kNever, kEnd, kMiddle };

struct Column {
  std::string title;
  bool right = false;     // numbers
  Cut cut = Cut::kNever;  // where, when the table is wider than the view
};

struct Cell {
  std::string text{};
  Tone tone = Tone::kPlain;
};

// A table: titles, then rows, two spaces between columns, nothing at line ends. Columns without any
// text are left out. Where it is too wide for the view, columns that may be cut are, the widest
// first.
std::string Table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                  const View& view);

}  // namespace tessera::cli
