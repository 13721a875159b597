// SPDX-License-Identifier: Apache-2.0
// Writes text as a JSON string, and names as messages show them. In base, because the log may not
// depend on the json folder. Pure. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// `text` in double quotes with JSON escapes. Invalid UTF-8 becomes U+FFFD.
std::string Quote(std::string_view text);

// A foreign name for a message. It stays as it is unless it is long, empty, or not plain ASCII
// without spaces; then its first 64 bytes are quoted.
std::string Brief(std::string_view name);

// A JSON text that is YAML as well: characters that YAML refuses or folds become escapes. Invalid
// UTF-8 becomes U+FFFD.
std::string JsonAsYaml(std::string_view json);

// `text` with U+FFFD for every invalid UTF-8 byte.
std::string ValidUtf8(std::string_view text);

}  // namespace tessera
