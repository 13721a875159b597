// SPDX-License-Identifier: Apache-2.0
// The node agent: discovers devices, divides them, serves kubelet, watches health, until it is told
// to stop. Everything it knows is touched on one thread, the loop's; gRPC's threads see snapshots.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace tessera::agent {

struct AgentOptions {
  std::optional<std::string> config_file;          // none: the default place, if a file is there
  std::map<std::string, std::string> environment;  // NAME -> value
  std::map<std::string, std::string> flags;        // without the dashes
};

// Runs until SIGTERM, SIGINT or SIGQUIT and ends the process: with 0 after a graceful stop, with 1
// when it cannot start (said on standard error) or cannot go on (kDirectoryGone).
[[noreturn]] void RunAgent(const AgentOptions& options);

}  // namespace tessera::agent
