// SPDX-License-Identifier: Apache-2.0
// `tessera mps`: keeps an MPS control daemon for each resource whose policy is MPS. It reads the
// agent's configuration. It is a program of its own, so that the agent can be replaced under
// running clients.
#pragma once

#include "config/watched_file.h"

namespace tessera::mps {

// Runs until SIGTERM, SIGINT or SIGQUIT, then ends the process. The exit code is 0, or 1 if it
// cannot start. `leave_running`: the daemons stay, for the next process to adopt.
[[noreturn]] void RunMps(const config::FileOptions& options, bool leave_running);

}  // namespace tessera::mps
