// SPDX-License-Identifier: Apache-2.0
// A text as it is written into YAML. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tessera::config {

// The scalar that every YAML, 1.1 as well, reads as this very text: without quotes where it can be.
std::string YamlText(std::string_view text);

}  // namespace tessera::config
