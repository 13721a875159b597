// SPDX-License-Identifier: Apache-2.0
// The parts that the table is put together from.
#pragma once

#include <vector>

#include "scheduler/settings/options.h"

namespace tessera::scheduler {

std::vector<Option> ProgramOptions();  // how it runs
std::vector<Option> WebhookOptions();  // which pods may be made, and what is added to them
std::vector<Option> LeaseOptions();    // who leads
std::vector<Option> PodOptions();      // whose pods it places, and where
std::vector<Option> NvidiaOptions();   // what of NVIDIA's GPUs they ask for
std::vector<Option> AmountOptions();   // what they get where they do not say

}  // namespace tessera::scheduler
