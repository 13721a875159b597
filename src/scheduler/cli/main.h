// SPDX-License-Identifier: Apache-2.0
// The command line of tessera-scheduler. Without a command it serves, and its words are flags by
// the rules of scheduler/settings/flags.h, HAMi's among them.
#pragma once

#include <vector>

#include "cli/command/command.h"
#include "hami/vendor_table.h"
#include "scheduler/settings/settings.h"
#include "scheduler/webhook_server.h"

namespace tessera::cli {

Command SchedulerProgram();
int SchedulerMain(int argc, char** argv);

// Whose devices are placed, by settings that are loaded; `table` is of the vendors besides NVIDIA.
std::vector<hami::ServedVendor> ServedBy(const scheduler::Settings& settings,
                                         const hami::VendorTable& table);
// What the settings come to for the webhook: one without an address is none.
scheduler::WebhookOptions WebhookBy(const scheduler::Settings& settings,
                                    const hami::VendorTable& table);

// Those flags that have an effect, for --help.
std::vector<Option> SettingsOptions();

}  // namespace tessera::cli
