// SPDX-License-Identifier: Apache-2.0
// The parts of the options table.
#pragma once

#include <vector>

#include "scheduler/settings/options.h"

namespace tessera::scheduler {

std::vector<Option> ProgramOptions();  // the process
std::vector<Option> WebhookOptions();  // which pods the webhook admits, and its patches
std::vector<Option> LeaseOptions();    // leader election
std::vector<Option> PodOptions();      // pods and nodes that are placed
std::vector<Option> NvidiaOptions();   // NVIDIA's resource names
std::vector<Option> AmountOptions();   // default amounts

}  // namespace tessera::scheduler
