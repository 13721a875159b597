// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "config/load.h"
#include "kinds/kinds.h"

namespace tessera::cli {
namespace {

int Serve(const Arguments& arguments) {
  const std::optional<std::string> file = ConfigFileIn(arguments);
  agent::RunAgent({.file = file.value_or(config::kDefaultFile),
                   .may_be_absent = !file,
                   .load = [environment = config::OwnEnvironment(),
                            flags = ConfigFlagsIn(arguments)](const auto& path) {
                     return config::LoadFile(FullSchema(), path, environment, flags);
                   }});
}

// Whether the words are only `tessera agent`, perhaps with a file.
bool NamesAtMostAFile(const std::vector<std::string>& words) {
  if (words.size() == 2) return words[1].starts_with("--config=");
  return words.size() == 1 ||
         (words.size() == 3 && words[1] == "--config" && !words[2].starts_with('-'));
}

Command Described(std::vector<Option> options, std::vector<Command> commands) {
  return {.name = "agent",
          .summary = "serve this node's devices to kubelet",
          .description =
              "Discovers the devices of this node, divides them into shares, serves them to "
              "kubelet and watches their health, until SIGTERM, SIGINT or SIGQUIT. The agent reads "
              "the configuration file again when it changes and on SIGHUP. A flag overrides its "
              "environment variable, which overrides the file.",
          .options = std::move(options),
          .examples = {{"tessera agent --config /etc/tessera/tessera.yaml", "Serve this node."},
                       {"tessera agent --config ./try.yaml --log-level debug", "See all it does."}},
          .commands = std::move(commands),
          .run = Serve};
}

}  // namespace

Command AgentCommand() {
  return Described(ConfigFlags(),
                   {NvidiaCommand(), RocmCommand(), RdmaSharedCommand(), SriovCommand()});
}

Command AgentCommandFor(const std::vector<std::string>& words) {
  if (NamesAtMostAFile(words)) return Described({ConfigFileFlag()}, {});
  if (words[1] == "nvidia") return Described({}, {NvidiaCommandWith({})});
  for (auto* const make : {RocmCommand, RdmaSharedCommand, SriovCommand}) {
    if (Command one = make(); words[1] == one.name) return Described({}, {std::move(one)});
  }
  return AgentCommand();
}

}  // namespace tessera::cli
