// SPDX-License-Identifier: Apache-2.0
#include "cli/command/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace tessera::cli {
namespace {

constexpr size_t kGap = 2;        // between columns
constexpr size_t kNarrowest = 8;  // a column is not cut below this

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

// Narrows the widest column that may be cut, step by step, until the row fits.
void Shrink(std::vector<size_t>& widths, const std::vector<Column>& columns, size_t limit) {
  auto total = [&] {
    size_t used = 0;
    for (size_t width : widths) used += width == 0 ? 0 : width + kGap;
    return used - std::min(used, kGap);
  };
  while (total() > limit) {
    size_t* widest = nullptr;
    for (size_t i = 0; i < widths.size(); ++i) {
      bool can = columns[i].cut != Cut::kNever && widths[i] > kNarrowest;
      if (can && (widest == nullptr || widths[i] > *widest)) widest = &widths[i];
    }
    if (widest == nullptr) return;
    --*widest;
  }
}

// The offset of the character in this column, from 0.
size_t OffsetOf(std::string_view text, size_t column) {
  size_t seen = 0;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool starts = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (starts && seen++ == column) break;
  }
  return at;
}

constexpr std::string_view kUuid = "00000000-0000-0000-0000-000000000000";

bool IsUuid(std::string_view text) {
  const auto fits = [](char c, char of) {
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return of == '-' ? c == '-' : digit;
  };
  return std::ranges::equal(text, kUuid, fits);
}

std::string Line(const std::vector<Column>& columns, const std::vector<size_t>& widths,
                 const std::vector<Cell>& cells, const View& view) {
  std::string line;
  size_t owed = 0;  // spaces before the next text, so that lines have none at their end
  for (size_t i = 0; i < columns.size(); ++i) {
    if (widths[i] == 0) continue;
    std::string text = columns[i].cut == Cut::kMiddle ? ElideMiddle(cells[i].text, widths[i])
                                                      : Elide(cells[i].text, widths[i]);
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
  return std::string(text.substr(0, OffsetOf(text, columns - 1))) + "…";
}

std::string ElideMiddle(std::string_view text, size_t columns) {
  const size_t width = Width(text);
  if (width <= columns) return std::string(text);
  const size_t tail = (columns - 1) / 2;
  const size_t head = columns - 1 - tail;
  return std::string(text.substr(0, OffsetOf(text, head))) + "…" +
         std::string(text.substr(OffsetOf(text, width - tail)));
}

std::string Shortened(std::string_view text, const View& view) {
  if (view.columns == 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    if (IsUuid(text.substr(0, kUuid.size()))) {
      out.append(text.substr(0, kUuid.find('-'))).append("…");
      text.remove_prefix(kUuid.size());
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

std::string Note(std::string_view text, const View& view) {
  const size_t columns = view.columns > 0 ? static_cast<size_t>(view.columns) : std::string::npos;
  std::string out;
  for (const std::string& line : Wrap("note: " + std::string(text), columns)) {
    out += Paint(line, Tone::kWarning, view) + "\n";
  }
  return out;
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
