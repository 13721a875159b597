// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <csignal>

#include "agent/uninstall.h"
#include "base/text.h"
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "config/load.h"
#include "config/schema/problem.h"
#include "kinds/kinds.h"
#include "os/lock.h"
#include "os/process.h"

namespace tessera::cli {
namespace {

// Whether files that containers have by grants may be removed.
bool MayRemoveGrants(const config::Config& config) {
  const auto containers = agent::ContainersWithGrants(config);
  if (!containers) {
    PrintToError(fmt::format(
        "nothing is removed, because the containers with virtual GPUs are not known: {}\n",
        containers.error().Text()));
    return false;
  }
  if (containers->empty()) return true;
  PrintToError(fmt::format(
      "nothing is removed: kubelet still knows {} with virtual GPUs, which could not restart:\n",
      Count(containers->size(), "container")));
  for (const std::string& container : *containers) PrintToError(container + "\n");
  PrintToError("delete these pods, or use --force\n");
  return false;
}

// An agent that runs would restore its documents. One that was just deleted may still be stopping.
Result<os::FileLock> AwaitAgentsEnd(const config::Config& config) {
  constexpr Duration kPatience{5'000};
  return os::FileLock::TakeWithin(config.state_dir + "/lock", kPatience);
}

int Uninstall(const Arguments& arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  const config::LoadResult loaded = config::LoadFile(
      FullSchema(), ConfigFileIn(arguments), config::OwnEnvironment(), ConfigFlagsIn(arguments));
  if (!loaded.ok()) {
    PrintToError(config::Text(loaded.errors));
    return kFailed;
  }
  const bool forced = arguments.Has("force");
  const auto lock = AwaitAgentsEnd(loaded.config);
  if (!forced && !lock && lock.error().reason == Reason::kStateLocked) {
    PrintToError(fmt::format("nothing is removed: an agent runs with the state in {}; stop it\n",
                             loaded.config.state_dir));
    return kFailed;
  }
  if (!forced && !MayRemoveGrants(loaded.config)) return kFailed;
  const auto api = FindApiServer(loaded.config.api, os::Root(loaded.config.root_prefix),
                                 os::Variable, os::HostName());
  if (!api) return PrintFailure(api.error());
  if (loaded.config.api.use && !*api) {
    PrintToError(
        "not removed: the node's labels, annotations and condition, because no API server is "
        "configured. Set api.kubeconfig, and api.nodeName if it is not the host name\n");
  }
  int code = kOk;
  for (const agent::Removal& removal : agent::Uninstall(loaded.config, *api)) {
    if (removal.error) {
      code = kFailed;
      PrintToError(fmt::format("not removed: {}: {}\n", removal.what, removal.error->Text()));
    } else if (Print(fmt::format("removed: {}\n", removal.what)) != kOk) {
      return kFailed;
    }
  }
  return code;
}

std::vector<Option> Options() {
  std::vector<Option> options = {
      {.name = "--force",
       .help = "even while an agent runs, or containers have virtual GPUs, which then cannot "
               "restart"}};
  for (Option& option : ConfigFlags()) options.push_back(std::move(option));
  return options;
}

}  // namespace

Command UninstallCommand() {
  return {
      .name = "uninstall",
      .summary = "remove what agents leave on a node",
      .description =
          "Removes the CDI documents of agents with this state directory, the files of virtual "
          "GPUs' grants, and the feature file of labels. At the API server, it removes Tessera's "
          "labels, the node's condition, and the node's registration for HAMi's scheduler. Other "
          "programs' files, events and the rest of the state directory stay. The command refuses "
          "while an agent runs, or kubelet knows containers with virtual GPUs. It waits up to 5 "
          "seconds for an agent that stops.",
      .options = Options(),
      .examples = {{"tessera uninstall --config /etc/tessera/tessera.yaml",
                    "After the agent was removed from this node."}},
      .run = Uninstall};
}

}  // namespace tessera::cli
