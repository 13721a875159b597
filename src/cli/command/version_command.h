// SPDX-License-Identifier: Apache-2.0
// `version` of a program. Any thread.
#pragma once

#include <string>

#include "cli/command/command.h"

namespace tessera::cli {

Command VersionCommand(const std::string& program);

}  // namespace tessera::cli
