// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "config/load.h"

namespace tessera::cli {
namespace {

int Serve(const Arguments& arguments) {
  const std::optional<std::string> file = ConfigFileIn(arguments);
  agent::RunAgent(
      {.config_file = file.value_or(config::kDefaultFile),
       .may_be_absent = !file,
       .load = [environment = config::OwnEnvironment(), flags = ConfigFlagsIn(arguments)](
                   const auto& path) { return config::LoadFile(path, environment, flags); }});
}

}  // namespace

Command AgentCommand() {
  return {.name = "agent",
          .summary = "the daemon of a node",
          .description =
              "Discovers the devices of this node, divides them into shares, serves them "
              "to kubelet and watches their health, until SIGTERM, SIGINT or SIGQUIT. "
              "The configuration file is read again when it changes and on SIGHUP. A "
              "flag overrides its environment variable, which overrides the file.",
          .options = ConfigFlags(),
          .examples = {{"tessera agent --config /etc/tessera/tessera.yaml", "Serve this node."},
                       {"tessera agent --config ./try.yaml --log-level debug", "See all it does."}},
          .commands = {NvidiaCommand()},
          .run = Serve};
}

}  // namespace tessera::cli
