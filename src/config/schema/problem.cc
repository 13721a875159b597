// SPDX-License-Identifier: Apache-2.0
#include "config/schema/problem.h"

#include <fmt/core.h>

#include "base/quote.h"
#include "base/text.h"

namespace tessera::config {
namespace {

constexpr size_t kMaxQuoted = 80;
constexpr size_t kMaxExcerpt = 160;

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool ContinuesCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// The first `limit` bytes, cut between characters, without what could confuse a terminal.
// `keep_tabs` keeps tabs, so that the caret lines up.
std::string Printable(std::string_view text, size_t limit, bool keep_tabs) {
  size_t end = text.size();
  if (end > limit) {
    end = limit;
    while (end > 0 && ContinuesCharacter(text[end])) --end;
  }
  std::string out;
  for (char c : text.substr(0, end)) out += IsControl(c) && !(keep_tabs && c == '\t') ? '?' : c;
  if (end < text.size()) out += "...";
  return out;
}

// As wide as the text before `column`.
std::string Indent(std::string_view line, size_t column) {
  std::string out;
  for (char c : line) {
    if (ContinuesCharacter(c)) continue;
    if (out.size() + 1 >= column) break;
    out += c == '\t' ? '\t' : ' ';
  }
  return out;
}

}  // namespace

std::string Quoted(std::string_view text) {
  return fmt::format("'{}'", ValidUtf8(Printable(text, kMaxQuoted, false)));
}

std::string Problem::Text() const {
  std::string out = origin;
  if (line > 0) out += fmt::format(":{}:{}", line, column);
  out += ": " + message;
  if (!suggestion.empty()) out += fmt::format("; did you mean '{}'?", suggestion);
  out += fmt::format(" [{}]", ReasonName(reason));
  if (line > 0 && !excerpt.empty()) {
    out += "\n" + Printable(excerpt, kMaxExcerpt, true);
    const auto at = static_cast<size_t>(column);
    if (at <= kMaxExcerpt && at <= excerpt.size() + 1) out += "\n" + Indent(excerpt, at) + "^";
  }
  return out;
}

std::string Text(std::span<const Problem> problems) {
  std::string out;
  for (const Problem& problem : problems) out += problem.Text() + "\n";
  return out;
}

}  // namespace tessera::config
