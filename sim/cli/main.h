// SPDX-License-Identifier: Apache-2.0
// `tessera-sim`: simulated hardware and an embedded kubelet for a laptop and for tests.
#pragma once

#include "cli/command/command.h"

namespace tessera::cli {

Command DemoCommand();
Command KubeletCommand();
Command FaultCommand();

// The whole command tree.
Command SimProgram();

// Runs the command line; returns the program's exit code.
int SimMain(int argc, char** argv);

}  // namespace tessera::cli
