// SPDX-License-Identifier: Apache-2.0
// Text as a JSON string, and names as messages show them. For the log, which lies below the json
// folder. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// `text` in double quotes, escaped as JSON asks; bytes that are not UTF-8 become U+FFFD.
std::string Quote(std::string_view text);

// A name that somebody else gave, for a message: as it is, or, where it is long, empty or not plain
// (spaces, control characters, other than ASCII), the first 64 bytes of it in quotes.
std::string Brief(std::string_view name);

// `text` with U+FFFD for every byte that is not UTF-8.
std::string ValidUtf8(std::string_view text);

}  // namespace tessera
