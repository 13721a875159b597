// SPDX-License-Identifier: Apache-2.0
// What the agent does not start without, where its configuration says so. One thread: the loop's.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "config/schema/config.h"
#include "os/loop.h"

namespace tessera::agent {

// What was opened to see that it is there: kept until the resources have it themselves, so that it
// is not opened twice.
using Requirements = std::vector<std::shared_ptr<const void>>;

// An error when something is missing that the agent does not start without; of what the devices of
// a kind need besides the log tells. May take some seconds.
Result<Requirements> MeetRequirements(const config::Config& config, os::Loop& loop);

}  // namespace tessera::agent
