// SPDX-License-Identifier: Apache-2.0
// `tessera-scheduler config check` and `config print`. What these return is the exit code: 0, or 1
// when the settings have an error. One thread.
#pragma once

#include <cstdio>
#include <string>

#include "cli/command/command.h"
#include "scheduler/settings/load.h"

namespace tessera::cli {

// The settings that the scheduler would use, with the origin of every value, to `out`; problems and
// notes go to `err`.
int SettingsPrint(const scheduler::Loaded& loaded, FILE* out, FILE* err);

// A line to `out` when the file is good: the scheduler's own, or HAMi's device-config.yaml by its
// shape. The file alone: what this shell's environment says must not decide whether it is good.
int SettingsCheck(const std::string& file, FILE* out, FILE* err);

Command SchedulerConfigCommand();

}  // namespace tessera::cli
