// SPDX-License-Identifier: Apache-2.0
// The flags of another product's plugin in --help. Pure; any thread.
#pragma once

#include <span>
#include <vector>

#include "cli/command/command.h"
#include "compat/go_flags/go_flags.h"

namespace tessera::cli {

// Those that have an effect here.
std::vector<Option> GoFlagOptions(std::span<const config::GoFlag> flags);

}  // namespace tessera::cli
