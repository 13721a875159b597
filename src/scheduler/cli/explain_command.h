// SPDX-License-Identifier: Apache-2.0
// `tessera-scheduler explain`: why a pod waits, as the scheduler of this pod or machine says it.
#pragma once

#include "cli/command/command.h"

namespace tessera::cli {

Command SchedulerExplainCommand();

}  // namespace tessera::cli
