// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <numeric>

#include "base/characters.h"

namespace tessera {
namespace {

bool IsSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Removes the digits at the front of `text` and returns them without leading zeros.
std::string_view TakeNumber(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

struct Unit {
  std::string_view name;
  int64_t milliseconds;
};
constexpr std::array kUnits = {Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000},
                               Unit{"ms", 1}};

// Optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours,
// each place edited once.
size_t Distance(std::string_view a, std::string_view b) {
  // Distances of the last three prefixes of `a`, newest last, to every prefix of `b`.
  std::array<std::vector<size_t>, 3> rows;
  rows.fill(std::vector<size_t>(b.size() + 1));
  std::iota(rows[2].begin(), rows[2].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::rotate(rows.begin(), rows.begin() + 1, rows.end());
    auto& [before_last, last, row] = rows;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return rows[2].back();
}

// A DNS-1123 subdomain of at most `limit` bytes.
bool IsSubdomain(std::string_view text, size_t limit) {
  if (text.empty() || text.size() > limit) return false;
  for (const std::string& label : Split(text, '.')) {
    const auto inner = [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; };
    if (label.empty() || label.front() == '-' || label.back() == '-') return false;
    if (!std::all_of(label.begin(), label.end(), inner)) return false;
  }
  return true;
}

// The name part of a qualified name of Kubernetes.
bool IsNamePart(std::string_view text) {
  const auto inner = [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && text.size() <= 63 && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::all_of(text.begin(), text.end(), inner);
}

}  // namespace

bool NaturalLess::operator()(std::string_view a, std::string_view b) const {
  std::string_view x = a;
  std::string_view y = b;
  while (!x.empty() && !y.empty()) {
    if (IsDigit(x.front()) && IsDigit(y.front())) {
      const std::string_view m = TakeNumber(x);
      const std::string_view n = TakeNumber(y);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
      continue;
    }
    if (x.front() != y.front()) {
      return static_cast<uint8_t>(x.front()) < static_cast<uint8_t>(y.front());
    }
    x.remove_prefix(1);
    y.remove_prefix(1);
  }
  if (x.empty() != y.empty()) return x.empty();
  return a < b;  // "07" and "7" have equal values but are two names
}

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator)) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.emplace_back(text);
  return parts;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view FileName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not a continuation byte
  }));
}

std::vector<std::string> Wrap(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& paragraph : Split(text, '\n')) {
    std::string line;
    for (const std::string& word : Split(paragraph, ' ')) {
      if (word.empty()) continue;
      if (!line.empty() && Width(line) + 1 + Width(word) > columns) {
        lines.push_back(std::move(line));
        line.clear();
      }
      if (!line.empty()) line += ' ';
      line += word;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::optional<std::string> Closest(std::string_view word, std::span<const std::string> candidates) {
  size_t limit = std::max<size_t>(1, word.size() / 3);
  std::optional<std::string> closest;
  for (const std::string& candidate : candidates) {
    const size_t longer = std::max(word.size(), candidate.size());
    const size_t shorter = std::min(word.size(), candidate.size());
    if (longer - shorter > limit) continue;
    const size_t distance = Distance(word, candidate);
    if (distance > limit || (closest && distance == limit)) continue;
    closest = candidate;
    limit = distance;
  }
  return closest;
}

std::string Count(size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::optional<Duration> ParseDuration(std::string_view text) {
  int64_t number = 0;
  const auto [after, error] = std::from_chars(text.begin(), text.end(), number);
  if (error != std::errc() || number < 0 || !IsDigit(text.front())) return std::nullopt;
  const std::string_view name(after, static_cast<size_t>(text.end() - after));
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    int64_t milliseconds = 0;
    if (__builtin_mul_overflow(number, unit.milliseconds, &milliseconds)) return std::nullopt;
    return Duration(milliseconds);
  }
  return std::nullopt;
}

std::string FormatDuration(Duration duration) {
  const int64_t milliseconds = duration.count();
  if (milliseconds == 0) return "0s";
  for (const Unit& unit : kUnits) {
    if (milliseconds % unit.milliseconds == 0) {
      return fmt::format("{}{}", milliseconds / unit.milliseconds, unit.name);
    }
  }
  return {};  // unreachable: milliseconds divide everything
}

std::string MeasuredText(Duration duration) {
  const int64_t milliseconds = duration.count();
  const int64_t seconds = milliseconds / 1'000;
  if (seconds < 1) return fmt::format("{} ms", milliseconds);
  if (seconds < 60) return fmt::format("{:.1f} s", static_cast<double>(milliseconds) / 1'000);
  const auto text = [](int64_t whole, std::string_view unit, int64_t rest,
                       std::string_view lesser) {
    const std::string most = fmt::format("{} {}", whole, unit);
    return rest == 0 ? most : fmt::format("{} {} {}", most, rest, lesser);
  };
  if (seconds < 3'600) return text(seconds / 60, "min", seconds % 60, "s");
  return text(seconds / 3'600, "h", seconds / 60 % 60, "min");
}

std::string FormatTime(Wall time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

bool IsExtendedResourceName(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return false;
  if (name.find("kubernetes.io/") != std::string_view::npos) return false;
  // Kubernetes checks the quota's name for the resource, "requests." + name, as a qualified name.
  constexpr std::string_view kQuotaPrefix = "requests.";
  if (name.starts_with(kQuotaPrefix)) return false;
  return IsSubdomain(name.substr(0, slash), 253 - kQuotaPrefix.size()) &&
         IsNamePart(name.substr(slash + 1));
}

}  // namespace tessera
