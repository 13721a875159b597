// SPDX-License-Identifier: Apache-2.0
// What the table cannot express: keys that depend on each other.
#pragma once

#include <cstddef>
#include <string>

#include "config/schema/config.h"
#include "config/schema/findings.h"

namespace tessera::config {

// "resources[3]".
std::string ResourcePath(size_t index);

// Fills in defaults that depend on other keys.
void Complete(Config& config);

// Reports every rule that is broken. Values that are known to be bad break no further rule.
void CheckRules(const Config& config, Findings& findings);

}  // namespace tessera::config
