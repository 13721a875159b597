// SPDX-License-Identifier: Apache-2.0
// What a line of a request may be made of (RFC 9110, 5.6). A line that ends elsewhere for another
// reader, such as a proxy, would be another request to it. Pure; any thread.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/characters.h"

namespace tessera::http {

// No control characters but tabs.
constexpr bool IsPlain(std::string_view line) {
  return std::ranges::none_of(line,
                              [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7f; });
}

// A header's name.
constexpr bool IsToken(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [kMarks](char c) {
    return IsAlphanumeric(c) || kMarks.find(c) != kMarks.npos;
  });
}

}  // namespace tessera::http
