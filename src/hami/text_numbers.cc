// SPDX-License-Identifier: Apache-2.0
#include "hami/text_numbers.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/characters.h"

namespace tessera::hami {

std::optional<int32_t> ParseInt32(std::string_view text) {
  // from_chars accepts '-' but not '+'.
  if (text.starts_with('+') && text.size() > 1 && IsDigit(text[1])) text.remove_prefix(1);
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  if (error != std::errc() || end != text.end()) return std::nullopt;
  return number;
}

std::optional<bool> ParseBool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kYes = {"1", "t", "T", "TRUE", "true", "True"};
  constexpr std::array<std::string_view, 6> kNo = {"0", "f", "F", "FALSE", "false", "False"};
  if (std::ranges::count(kYes, text) > 0) return true;
  if (std::ranges::count(kNo, text) > 0) return false;
  return std::nullopt;
}

}  // namespace tessera::hami
