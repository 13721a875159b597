// SPDX-License-Identifier: Apache-2.0
#include "cli/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace tessera::cli {
namespace {

constexpr size_t kGap = 2;        // between columns
constexpr size_t kNarrowest = 8;  // a flexible column is not cut below this

std::string_view Code(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "32";
    case Tone::kWarning:
      return "33";
    case Tone::kBad:
      return "31";
    case Tone::kQuiet:
      return "2";
    case Tone::kTitle:
      return "1";
    case Tone::kPlain:
      break;
  }
  return "";
}

// Takes from the widest flexible column, one at a time, until the row fits.
void Shrink(std::vector<size_t>& widths, const std::vector<Column>& columns, size_t limit) {
  auto total = [&] {
    size_t used = 0;
    for (size_t width : widths) used += width == 0 ? 0 : width + kGap;
    return used - std::min(used, kGap);
  };
  while (total() > limit) {
    size_t* widest = nullptr;
    for (size_t i = 0; i < widths.size(); ++i) {
      bool can = columns[i].flexible && widths[i] > kNarrowest;
      if (can && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

std::string Line(const std::vector<Column>& columns, const std::vector<size_t>& widths,
                 const std::vector<Cell>& cells, const View& view) {
  std::string line;
  size_t owed = 0;  // spaces before the next text, so that none stand at the end
  for (size_t i = 0; i < columns.size(); ++i) {
    if (widths[i] == 0) continue;
    std::string text = Elide(cells[i].text, widths[i]);
    size_t pad = widths[i] - Width(text);
    if (columns[i].right) owed += pad;
    if (!text.empty()) {
      line.append(owed, ' ') += Paint(text, cells[i].tone, view);
      owed = 0;
    }
    owed += kGap + (columns[i].right ? 0 : pad);
  }
  return line + "\n";
}

}  // namespace

std::string Paint(std::string_view text, Tone tone, const View& view) {
  if (!view.color || tone == Tone::kPlain || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", Code(tone), text);
}

std::string Elide(std::string_view text, size_t columns) {
  if (Width(text) <= columns) return std::string(text);
  size_t seen = 0;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    bool starts = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (starts && seen++ == columns - 1) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string Table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                  const View& view) {
  std::vector<size_t> widths(columns.size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i].text));
  }
  std::vector<Cell> titles;
  for (size_t i = 0; i < columns.size(); ++i) {
    titles.push_back({columns[i].title, Tone::kTitle});
    if (widths[i] > 0) widths[i] = std::max(widths[i], Width(columns[i].title));
  }
  if (view.columns > 0) Shrink(widths, columns, static_cast<size_t>(view.columns));
  std::string out = Line(columns, widths, titles, view);
  for (const auto& row : rows) out += Line(columns, widths, row, view);
  return out;
}

}  // namespace tessera::cli
