// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/scalars.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/characters.h"
#include "base/text.h"
#include "config/schema/problem.h"

namespace tessera::config::nvidia {
namespace {

constexpr std::string_view kPrefix = "nvidia.com/";
constexpr size_t kMaxName = 63;

bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool IsLowerAlphanumeric(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z');
}
bool AreDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Lower-case labels, separated by dots (RFC 1123).
bool IsSubdomain(std::string_view text) {
  for (const std::string& label : Split(text, '.')) {
    const bool edges = !label.empty() && label.front() != '-' && label.back() != '-';
    const bool inner = std::all_of(label.begin(), label.end(),
                                   [](char c) { return IsLowerAlphanumeric(c) || c == '-'; });
    if (!edges || !inner) return false;
  }
  return true;
}

// All forms that Google's library reads: 36 characters, also in braces or after "urn:uuid:", or 32
// digits.
bool IsUuid(std::string_view text) {
  if (text.size() == 32) return std::all_of(text.begin(), text.end(), IsHexDigit);
  if (text.size() == 38 && text.front() == '{' && text.back() == '}') text = text.substr(1, 36);
  if (text.size() == 45) TakePrefix(text, "urn:uuid:");
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !IsHexDigit(text[i])) return false;
  }
  return true;
}

bool IsFloat(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text == ".inf" || text == ".Inf" || text == ".INF") return true;
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return true;
  const bool begins = !text.empty() &&
                      (IsDigit(text[0]) || (text[0] == '.' && text.size() > 1 && IsDigit(text[1])));
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return begins && stop == text.data() + text.size();
}

}  // namespace

ScalarType TypeOf(const Node& scalar) {
  if (scalar.quoted) return ScalarType::kText;
  if (Truth(scalar.scalar)) return ScalarType::kBool;
  if (WholeNumber(scalar.scalar) || IsFloat(scalar.scalar)) return ScalarType::kNumber;
  return ScalarType::kText;
}

std::optional<bool> Truth(std::string_view text) {
  constexpr std::array<std::string_view, 11> kTrue = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                      "True", "TRUE", "on",  "On",  "ON"};
  constexpr std::array<std::string_view, 11> kFalse = {
      "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
  if (std::ranges::count(kTrue, text) > 0) return true;
  if (std::ranges::count(kFalse, text) > 0) return false;
  return std::nullopt;
}

std::optional<bool> SwitchValue(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "TRUE", "true", "True"};
  constexpr std::array<std::string_view, 6> kFalse = {"0", "f", "F", "FALSE", "false", "False"};
  if (std::ranges::count(kTrue, text) > 0) return true;
  if (std::ranges::count(kFalse, text) > 0) return false;
  return std::nullopt;
}

std::optional<int64_t> WholeNumber(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (TakePrefix(text, "0x") || TakePrefix(text, "0X")) {
    base = 16;
  } else if (TakePrefix(text, "0b") || TakePrefix(text, "0B")) {
    base = 2;
  } else if (TakePrefix(text, "0o") || TakePrefix(text, "0O") ||
             (text.size() > 1 && text.front() == '0')) {
    base = 8;
  }
  if (text.empty() || !IsHexDigit(text.front())) return std::nullopt;
  std::string digits(text);
  std::erase(digits, '_');
  if (negative) digits.insert(digits.begin(), '-');
  int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (stop != end || error != std::errc()) return std::nullopt;
  return value;
}

std::optional<int64_t> WholeNumberOrFloat(std::string_view text) {
  if (const auto number = WholeNumber(text)) return number;
  constexpr double kMost = 1e15;  // up to here each whole number is exact
  const Parsed<double> number = IsFloat(text) ? ReadNumber(text) : ReadNumber("");
  const bool is_whole = number && std::abs(*number) <= kMost && std::trunc(*number) == *number;
  return is_whole ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
}

Parsed<std::string> ReadResourceName(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return tl::unexpected(Misfit{.reason = Reason::kConfigBadName,
                                 .message = fmt::format("must {}, not {}", why, Quoted(text))});
  };
  std::string_view rest = text;
  TakePrefix(rest, kPrefix);
  if (kPrefix.size() + rest.size() > kMaxName) {
    return bad(fmt::format("have at most {} characters, '{}' included", kMaxName, kPrefix));
  }
  if (!IsSubdomain(rest)) {
    return bad(
        "be lower-case letters, digits, '-' and '.' behind 'nvidia.com/', with a letter or digit "
        "at "
        "both ends");
  }
  return std::string(kPrefix) + std::string(rest);
}

bool IsDeviceReference(std::string_view text) {
  if (AreDigits(text)) return true;
  std::string_view uuid = text;
  if (TakePrefix(uuid, "MIG-GPU-")) {
    const std::vector<std::string> parts = Split(uuid, '/');
    return parts.size() == 3 && IsUuid(parts[0]) && AreDigits(parts[1]) && AreDigits(parts[2]);
  }
  if (TakePrefix(uuid, "GPU-") || TakePrefix(uuid, "MIG-")) return IsUuid(uuid);
  const size_t colon = text.find(':');
  return colon != std::string_view::npos && AreDigits(text.substr(0, colon)) &&
         AreDigits(text.substr(colon + 1));
}

std::optional<Duration> SleepInterval(std::string_view text) {
  if (text == "infinite") return Duration::max();
  if (text == "0") return Duration(0);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  // A longer unit comes before the unit that it begins with.
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1e-6}, {"us", 1e-3}, {"\u00b5s", 1e-3}, {"\u03bcs", 1e-3},
      {"ms", 1},    {"s", 1e3},   {"m", 60e3},       {"h", 3600e3}};
  double total = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view digits = text.substr(0, end);
    text.remove_prefix(end);
    double number = 0;
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (digits.empty() || stop != digits.data() + digits.size()) return std::nullopt;
    const auto* unit = std::ranges::find_if(
        kUnits, [&](const auto& each) { return TakePrefix(text, each.first); });
    if (unit == std::end(kUnits)) return std::nullopt;
    total += number * unit->second;
  }
  constexpr double kMost = 1e15;
  return Duration(static_cast<int64_t>(std::min(total, kMost)) * (negative ? -1 : 1));
}

std::string Described(const Node& node) {
  if (node.IsNull()) return "nothing";
  if (node.IsSequence()) return "a list";
  if (node.IsMap()) return "a map";
  return node.quoted ? fmt::format("the text {}", Quoted(node.scalar)) : Quoted(node.scalar);
}

}  // namespace tessera::config::nvidia
