// SPDX-License-Identifier: Apache-2.0
#include "config/schema/scalar.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "base/text.h"
#include "config/schema/problem.h"

namespace tessera::config {
namespace {

tl::unexpected<Misfit> WrongType(std::string_view wanted, std::string_view text,
                                 std::string suggestion = "") {
  return tl::unexpected(Misfit{Reason::kConfigWrongType,
                               fmt::format("takes {}, not {}", wanted, Quoted(text)),
                               std::move(suggestion)});
}

tl::unexpected<Misfit> OutOfRange(std::string_view wanted, std::string_view text) {
  return tl::unexpected(
      Misfit{Reason::kConfigBadValue, fmt::format("takes {}, not {}", wanted, Quoted(text)), ""});
}

// The truth value that people mean by words that YAML 1.2 does not know.
std::string TruthMeant(std::string_view text) {
  std::string lower;
  for (char c : text) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (lower == "yes" || lower == "on" || lower == "y" || lower == "1" || lower == "true") {
    return "true";
  }
  if (lower == "no" || lower == "off" || lower == "n" || lower == "0" || lower == "false") {
    return "false";
  }
  return "";
}

}  // namespace

Parsed<bool> ReadBool(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return WrongType("true or false", text, TruthMeant(text));
}

Parsed<int64_t> ReadInt(std::string_view text, int64_t min, int64_t max) {
  const std::string wanted = fmt::format("a whole number from {} to {}", min, max);
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end) return WrongType(wanted, text);
  if (error != std::errc() || value < min || value > max) return OutOfRange(wanted, text);
  return value;
}

Parsed<double> ReadNumber(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || error != std::errc() || !std::isfinite(value)) {
    return WrongType("a number", text);
  }
  return value;
}

Parsed<double> ReadDecimal(std::string_view text, double above, double max) {
  const std::string wanted = fmt::format("a number above {} and up to {}", above, max);
  const Parsed<double> number = ReadNumber(text);
  if (!number) return WrongType(wanted, text);
  if (*number <= above || *number > max) return OutOfRange(wanted, text);
  return *number;
}

Parsed<Duration> ReadTime(std::string_view text, Duration min, Duration max) {
  const std::optional<Duration> value = ParseDuration(text);
  if (!value) return WrongType("a time such as 250ms, 10s, 5m or 2h", text);
  if (*value < min || *value > max) {
    return OutOfRange(fmt::format("a time from {} to {}", FormatDuration(min), FormatDuration(max)),
                      text);
  }
  return *value;
}

Parsed<std::string> ReadOneOf(std::string_view text, std::span<const std::string> values) {
  for (const std::string& value : values) {
    if (value == text) return value;
  }
  return tl::unexpected(Misfit{Reason::kConfigBadValue,
                               fmt::format("takes {}, not {}", Listed(values), Quoted(text)),
                               Closest(text, values).value_or("")});
}

std::string Listed(std::span<const std::string> values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += i + 1 == values.size() ? " or " : ", ";
    out += fmt::format("'{}'", values[i]);
  }
  return out;
}

}  // namespace tessera::config
