// SPDX-License-Identifier: Apache-2.0
// Text as a JSON string. For the log, which lies below the json folder. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// `text` in double quotes, escaped as JSON asks; bytes that are not UTF-8 become U+FFFD.
std::string Quote(std::string_view text);

// `text` with U+FFFD for every byte that is not UTF-8.
std::string ValidUtf8(std::string_view text);

}  // namespace tessera
