// SPDX-License-Identifier: Apache-2.0
// The man page from the command tree. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "cli/command/command.h"

namespace tessera::cli {

// In roff's man macros, section 1.
std::string ManPage(const Command& program, std::string_view version);

}  // namespace tessera::cli
