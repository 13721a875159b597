// SPDX-License-Identifier: Apache-2.0
// The configuration's keys as flags: one for each key with a single value. Pure; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command/command.h"

namespace tessera::cli {

// --config FILE and the keys' flags. The parser fills in no defaults and no variables. The
// configuration does, as it records each value's source.
std::vector<Option> ConfigFlags();
Option ConfigFileFlag();  // the first of them

std::optional<std::string> ConfigFileIn(const Arguments& arguments);
// By flag name without dashes: "kubelet-root".
std::map<std::string, std::string> ConfigFlagsIn(const Arguments& arguments);

}  // namespace tessera::cli
