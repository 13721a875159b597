// SPDX-License-Identifier: Apache-2.0
// Conditions that the configuration demands before the agent starts. One thread: the loop's.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "config/schema/config.h"
#include "os/loop.h"

namespace tessera::agent {

// Libraries that the check opened. The caller keeps them until the resources have opened them too,
// so that they are loaded once.
using Requirements = std::vector<std::shared_ptr<const void>>;

// An error if a demanded condition is missing. Missing needs of a kind's devices are only logged.
// May take seconds.
Result<Requirements> MeetRequirements(const config::Config& config, os::Loop& loop);

}  // namespace tessera::agent
