// SPDX-License-Identifier: Apache-2.0
// Numbers on the command line. Pure; any thread.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>

namespace tessera::cli {

// Null: the whole text is not a finite number of this type.
template <class T>
std::optional<T> ParseNumber(std::string_view text) {
  T number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  if (!std::isfinite(static_cast<double>(number))) return {};
  return number;
}

}  // namespace tessera::cli
