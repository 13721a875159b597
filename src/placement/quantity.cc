// SPDX-License-Identifier: Apache-2.0
#include "placement/quantity.h"

#include <array>
#include <charconv>
#include <string>

#include "base/characters.h"

namespace tessera {
namespace {

// A suffix's factor, as powers of ten and of two.
struct Scale {
  int ten = 0;
  int two = 0;
};

struct Suffix {
  std::string_view name;
  Scale scale;
};
constexpr std::array kSuffixes = {
    Suffix{"", {}},        Suffix{"n", {-9}},     Suffix{"u", {-6}},     Suffix{"m", {-3}},
    Suffix{"k", {3}},      Suffix{"M", {6}},      Suffix{"G", {9}},      Suffix{"T", {12}},
    Suffix{"P", {15}},     Suffix{"E", {18}},     Suffix{"Ki", {0, 10}}, Suffix{"Mi", {0, 20}},
    Suffix{"Gi", {0, 30}}, Suffix{"Ti", {0, 40}}, Suffix{"Pi", {0, 50}}, Suffix{"Ei", {0, 60}},
};

std::optional<Scale> ReadSuffix(std::string_view text) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.name == text) return suffix.scale;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  text.remove_prefix(text[1] == '+' && text.size() > 2 && IsDigit(text[2]) ? 2 : 1);
  // An exponent outside int16 gives a value outside int64, or a fraction.
  int16_t ten = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), ten);
  if (error != std::errc() || end != text.end()) return std::nullopt;
  return Scale{.ten = ten};
}

// number * base^power. False if the result is fractional or overflows.
bool Multiply(int64_t& number, int base, int power) {
  for (; power > 0 && number != 0; --power) {
    if (__builtin_mul_overflow(number, base, &number)) return false;
  }
  for (; power < 0 && number != 0; ++power) {
    if (number % base != 0) return false;
    number /= base;
  }
  return true;
}

}  // namespace

std::optional<int64_t> WholeQuantity(std::string_view text) {
  std::string digits = text.starts_with('-') ? "-" : "";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  int behind_point = 0;
  bool any = false;
  bool point = false;
  for (; !text.empty() && (IsDigit(text.front()) || (text.front() == '.' && !point));
       text.remove_prefix(1)) {
    if (text.front() == '.') {
      point = true;
      continue;
    }
    any = true;
    digits += text.front();
    if (point) ++behind_point;
  }
  const auto scale = ReadSuffix(text);
  if (!any || !scale) return std::nullopt;
  // Drops trailing zeros of the fraction.
  for (; behind_point > 0 && digits.back() == '0' && digits.size() > 1; --behind_point) {
    digits.pop_back();
  }
  int64_t number = 0;
  const char* end = digits.data() + digits.size();
  if (digits != "-" && std::from_chars(digits.data(), end, number).ec != std::errc()) {
    return std::nullopt;
  }
  // Divides first, so that "0.5Gi" stays an integer.
  const int ten = scale->ten - behind_point;
  const bool holds = ten < 0 ? Multiply(number, 5, ten) && Multiply(number, 2, ten + scale->two)
                             : Multiply(number, 10, ten) && Multiply(number, 2, scale->two);
  if (!holds) return std::nullopt;
  return number;
}

}  // namespace tessera
