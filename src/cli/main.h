// SPDX-License-Identifier: Apache-2.0
// The program: a list of subcommands.
#pragma once

#include "cli/command/command.h"

namespace tessera::cli {

// The whole command tree.
Command Program();

// Runs the command line; returns the program's exit code.
int Main(int argc, char** argv);

}  // namespace tessera::cli
