// SPDX-License-Identifier: Apache-2.0
// Writes a text as a YAML scalar. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tessera::config {

// The scalar that every YAML, also 1.1, reads as this text; without quotes if possible.
std::string YamlText(std::string_view text);

}  // namespace tessera::config
