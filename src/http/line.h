// SPDX-License-Identifier: Apache-2.0
// The characters allowed in a request line and headers (RFC 9110, 5.6). Strictness prevents request
// smuggling: a proxy must not see a different line end. Pure. Any thread.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/characters.h"

namespace tessera::http {

// Without control characters except tabs.
constexpr bool IsPlain(std::string_view line) {
  return std::ranges::none_of(line,
                              [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7f; });
}

// A valid header name.
constexpr bool IsToken(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [kMarks](char c) {
    return IsAlphanumeric(c) || kMarks.find(c) != kMarks.npos;
  });
}

}  // namespace tessera::http
