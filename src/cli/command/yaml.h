// SPDX-License-Identifier: Apache-2.0
// JSON values as YAML in block style, for `-o yaml`. Pure; any thread.
#pragma once

#include <string>

#include "json/json.h"

namespace tessera::cli {

// Ends with a newline. Ambiguous text is in double quotes.
std::string WriteYaml(const json::Value& value);

}  // namespace tessera::cli
