// SPDX-License-Identifier: Apache-2.0
// The command line of tessera-scheduler.
#pragma once

#include "cli/command/command.h"

namespace tessera::cli {

Command SchedulerProgram();
int SchedulerMain(int argc, char** argv);

}  // namespace tessera::cli
