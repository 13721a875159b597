// SPDX-License-Identifier: Apache-2.0
// The node agent discovers devices, divides them, serves kubelet and watches health until a signal
// stops it. One thread, the loop's, owns all its state. kubelet's calls read snapshots.
#pragma once

#include "config/watched_file.h"

namespace tessera::agent {

// Runs until SIGTERM, SIGINT or SIGQUIT, and ends the process. The exit status is 0 after a
// graceful stop. It is 1 if the agent cannot start (the error is on standard error) or cannot go on
// (kDirectoryGone).
[[noreturn]] void RunAgent(const config::FileOptions& options);

}  // namespace tessera::agent
