// SPDX-License-Identifier: Apache-2.0
#include "agent/toml.h"

#include "base/text.h"

namespace tessera::agent {
namespace {

// A '#' within quotes begins no comment.
std::string_view WithoutComment(std::string_view line) {
  char quote = '\0';
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '"' && c == '\\') {
      ++i;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      return Trim(line.substr(0, i));
    }
  }
  return Trim(line);
}

bool IsOpenArray(std::string_view value) {
  return value.starts_with('[') && !value.ends_with(']');
}

}  // namespace

std::vector<TomlEntry> TomlEntries(std::string_view text) {
  std::vector<TomlEntry> entries;
  std::string table;
  bool open = false;  // the last entry's array
  for (const std::string& whole : Split(text, '\n')) {
    const std::string_view line = WithoutComment(whole);
    if (open) {
      entries.back().value += line;
      open = !line.ends_with(']');
    } else if (line.starts_with('[')) {
      table = Trim(line.substr(1, line.find_last_not_of(']')));
    } else if (const size_t equals = line.find('='); equals != std::string_view::npos) {
      entries.push_back({.table = table,
                         .key = std::string(Trim(line.substr(0, equals))),
                         .value = std::string(Trim(line.substr(equals + 1)))});
      open = IsOpenArray(entries.back().value);
    }
  }
  return entries;
}

std::vector<std::string> TomlStrings(std::string_view array) {
  constexpr std::string_view kQuotes = "\"'";
  std::vector<std::string> strings;
  size_t begin = array.find_first_of(kQuotes);
  while (begin != std::string_view::npos) {
    const size_t end = array.find(array[begin], begin + 1);
    if (end == std::string_view::npos) break;
    strings.emplace_back(array.substr(begin + 1, end - begin - 1));
    begin = array.find_first_of(kQuotes, end + 1);
  }
  return strings;
}

}  // namespace tessera::agent
