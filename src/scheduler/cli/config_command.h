// SPDX-License-Identifier: Apache-2.0
// `tessera-scheduler config check` and `config print`. The results are exit codes: 0, or 1 if the
// settings have an error. One thread.
#pragma once

#include <cstdio>
#include <string>

#include "cli/command/command.h"
#include "scheduler/settings/load.h"

namespace tessera::cli {

// Prints the effective settings, with the origin of each value, to `out`. Problems and notes go to
// `err`.
int SettingsPrint(const scheduler::Loaded& loaded, FILE* out, FILE* err);

// Prints a line to `out` if the file is valid: the scheduler's own, or HAMi's device-config.yaml by
// its shape. Ignores the environment, which must not affect a file's validity.
int SettingsCheck(const std::string& file, FILE* out, FILE* err);

Command SchedulerConfigCommand();

}  // namespace tessera::cli
