// SPDX-License-Identifier: Apache-2.0
// `tessera mps`: keeps an MPS control daemon for each resource that is shared by MPS, by the
// configuration that the agent has. It is a program of its own, so that the agent can be replaced
// under running clients.
#pragma once

#include "config/watched_file.h"

namespace tessera::mps {

// Runs until SIGTERM, SIGINT or SIGQUIT and ends the process: with 0, with 1 when it cannot start.
// `leave_running`: daemons are not ended then, for the next one to adopt.
[[noreturn]] void RunMps(const config::FileOptions& options, bool leave_running);

}  // namespace tessera::mps
