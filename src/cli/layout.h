// SPDX-License-Identifier: Apache-2.0
// Text in columns. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

// Where text is going.
struct View {
  int columns = 0;  // 0: any width, nothing is cut
  bool color = false;
};

// What a text says about the thing it stands for; shown as colour.
enum class Tone : uint8_t { kPlain, kGood, kWarning, kBad, kQuiet, kTitle };

// `text` in the tone's colour, or as it is where there are no colours.
std::string Paint(std::string_view text, Tone tone, const View& view);

// The text cut to `columns`, with "…" at its end when something was cut.
std::string Elide(std::string_view text, size_t columns);

struct Column {
  std::string title;
  bool right = false;     // numbers
  bool flexible = false;  // may be cut when the table is wider than the view
};

struct Cell {
  std::string text{};
  Tone tone = Tone::kPlain;
};

// A table: titles, then rows, two spaces between columns, nothing at line ends. Columns without any
// text are left out. Where it is too wide for the view, flexible columns are cut, the widest first.
std::string Table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                  const View& view);

}  // namespace tessera::cli
