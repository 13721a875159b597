// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "config/load.h"

namespace tessera::cli {
namespace {

int Serve(const Arguments& arguments) {
  agent::RunAgent({.config_file = ConfigFileIn(arguments),
                   .environment = config::OwnEnvironment(),
                   .flags = ConfigFlagsIn(arguments)});
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
          .run = Serve};
}

}  // namespace tessera::cli
