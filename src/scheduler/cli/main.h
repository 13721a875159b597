// SPDX-License-Identifier: Apache-2.0
// The command line of tessera-scheduler. Without a command it serves. Its flags, HAMi's among them,
// follow scheduler/settings/flags.h.
#pragma once

#include <vector>

#include "cli/command/command.h"
#include "hami/vendor_table.h"
#include "scheduler/settings/settings.h"
#include "scheduler/webhook_server.h"

namespace tessera::cli {

Command SchedulerProgram();
int SchedulerMain(int argc, char** argv);

// The placed vendors according to the settings. `table` has the vendors other than NVIDIA.
std::vector<hami::ServedVendor> ServedBy(const scheduler::Settings& settings,
                                         const hami::VendorTable& table);
// The webhook's options according to the settings. Without an address there is no webhook.
scheduler::WebhookOptions WebhookBy(const scheduler::Settings& settings,
                                    const hami::VendorTable& table);

// The flags that have an effect, for --help.
std::vector<Option> SettingsOptions();

}  // namespace tessera::cli
