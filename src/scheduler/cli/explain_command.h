// SPDX-License-Identifier: Apache-2.0
// `tessera-scheduler explain`: why a pod waits, according to the scheduler of this pod or machine.
#pragma once

#include "cli/command/command.h"

namespace tessera::cli {

Command SchedulerExplainCommand();

}  // namespace tessera::cli
