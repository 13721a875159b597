// SPDX-License-Identifier: Apache-2.0
// The node agent: discovers devices, divides them, serves kubelet, watches health, until it is told
// to stop. Everything it knows is touched on one thread, the loop's; kubelet's calls see snapshots.
#pragma once

#include "config/watched_file.h"

namespace tessera::agent {

// Runs until SIGTERM, SIGINT or SIGQUIT and ends the process: with 0 after a graceful stop, with 1
// when it cannot start (said on standard error) or cannot go on (kDirectoryGone).
[[noreturn]] void RunAgent(const config::FileOptions& options);

}  // namespace tessera::agent
