// SPDX-License-Identifier: Apache-2.0
// The command line of tessera-scheduler. Without a command it serves, and its words are flags by
// the rules of scheduler/settings/flags.h, HAMi's among them.
#pragma once

#include <vector>

#include "cli/command/command.h"

namespace tessera::cli {

Command SchedulerProgram();
int SchedulerMain(int argc, char** argv);

// Those flags that have an effect, for --help.
std::vector<Option> SettingsOptions();

}  // namespace tessera::cli
