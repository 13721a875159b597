// SPDX-License-Identifier: Apache-2.0
// Reads one value from text, in one way for files, environment variables and flags. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace tessera::config {

// Why a text is not the value of the wanted type. The message follows the key's name: "takes true
// or false, not 'yes'".
struct Misfit {
  Reason reason = Reason::kConfigWrongType;
  std::string message{};
  std::string suggestion{};
};

template <class T>
using Parsed = tl::expected<T, Misfit>;

Parsed<bool> ReadBool(std::string_view text);
Parsed<int64_t> ReadInt(std::string_view text, int64_t min, int64_t max);
Parsed<double> ReadNumber(std::string_view text);
// A number above `above` and up to `max`.
Parsed<double> ReadDecimal(std::string_view text, double above, double max);
Parsed<Duration> ReadTime(std::string_view text, Duration min, Duration max);
Parsed<std::string> ReadOneOf(std::string_view text, std::span<const std::string> values);

// "'a', 'b' or 'c'".
std::string Listed(std::span<const std::string> values);

}  // namespace tessera::config
