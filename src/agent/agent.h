// SPDX-License-Identifier: Apache-2.0
// The node agent: discovers devices, divides them, serves kubelet, watches health, until it is told
// to stop. Everything it knows is touched on one thread, the loop's; kubelet's calls see snapshots.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"

namespace tessera::agent {

struct AgentOptions {
  // The file of the configuration, read anew whenever it changes. Empty: there is none.
  std::string config_file;
  std::vector<std::string> further_files{};  // that count beside it; none need be there
  bool may_be_absent = false;                // the agent starts without it
  // Reads the configuration, in whatever format, with everything that overrides it; the file is not
  // named when it may be absent and has not been there. Called on the loop's thread.
  std::function<config::LoadResult(const std::optional<std::string>& file)> load;
};

// Runs until SIGTERM, SIGINT or SIGQUIT and ends the process: with 0 after a graceful stop, with 1
// when it cannot start (said on standard error) or cannot go on (kDirectoryGone).
[[noreturn]] void RunAgent(const AgentOptions& options);

}  // namespace tessera::agent
