// SPDX-License-Identifier: Apache-2.0
// Shell completion scripts from the command tree. Pure; any thread.
#pragma once

#include <string>

#include "cli/command/command.h"

namespace tessera::cli {

std::string BashCompletion(const Command& program);
std::string ZshCompletion(const Command& program);

}  // namespace tessera::cli
