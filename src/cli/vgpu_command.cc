// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/control.h"
#include "cli/limiter_directories.h"
#include "cli/vgpu_list.h"
#include "cli/vgpu_view.h"
#include "config/load.h"
#include "config/schema/problem.h"
#include "kinds/kinds.h"

namespace tessera::cli {
namespace {

constexpr Duration kMostMeasured{60'000};

std::set<std::string> DirectoriesOf(const Arguments& arguments, const config::Config& config) {
  if (arguments.Has("directory")) return {arguments.Get("directory")};
  return LimiterDirectories(config);
}

std::string NoVgpusText(const VgpuSources& sources) {
  const std::vector<std::string> places(sources.directories.begin(), sources.directories.end());
  return fmt::format(
      "no container of this node has a virtual GPU: containers/ below {} is empty, and {} has no "
      "record of a grant.\nOtherwise name the agent's configuration by --config, or the limiting "
      "library's directory by --directory; in a container, mount both directories "
      "of the host.\n",
      Join(places, " and "), sources.state_dir);
}

int ShowVgpus(const Arguments& arguments) {
  const auto measured = ParseDuration(arguments.Get("for"));
  if (!measured || *measured > kMostMeasured) {
    return PrintMisuse(
        "vgpu", "--for takes a time of up to 60s, such as 2s, not '" + arguments.Get("for") + "'");
  }
  const config::LoadResult loaded = config::LoadFile(
      FullSchema(), ConfigFileIn(arguments), config::OwnEnvironment(), ConfigFlagsIn(arguments));
  if (!loaded.ok()) {
    PrintToError(config::Text(loaded.errors));
    return kFailed;
  }
  const VgpuSources sources{.root = os::Root(loaded.config.root_prefix),
                            .directories = DirectoriesOf(arguments, loaded.config),
                            .state_dir = loaded.config.state_dir,
                            .measured = *measured};
  auto containers = ListVgpus(sources);
  if (!containers) return PrintFailure(containers.error());
  // Names are optional: the command is useful without an agent.
  if (!containers->empty()) {
    const auto ledger = AskAgent(arguments, {.path = "/ledger", .query = {}, .body = ""});
    if (ledger) CompareWith(*ledger, *containers);
  }
  if (auto printed = PrintDocument(arguments, VgpuDocument(*containers))) return *printed;
  if (containers->empty()) return Print(NoVgpusText(sources));
  return Print(VgpuText(*containers, OutputView(arguments.Get("output") == "wide")));
}

std::vector<Option> VgpuOptions() {
  std::vector<Option> options = {
      {.name = "--for",
       .value = "TIME",
       .help = "how long to measure containers' use of a GPU's time; 0s: not at all",
       .fallback = "2s"},
      {.name = "--directory",
       .value = "DIRECTORY",
       .help = "the directory of the limiting library's files, instead of the configuration's"},
      OutputOption({"table", "wide", "json", "yaml"})};
  for (Option& option : ConfigFlags()) {
    const bool of_use =
        option.name == "--config" || option.name == "--state-dir" || option.name == "--root-prefix";
    if (of_use) options.push_back(std::move(option));
  }
  options.push_back(ControlOption());
  return options;
}

}  // namespace

Command VgpuCommand() {
  return {.name = "vgpu",
          .summary = "show what containers use of their virtual GPUs",
          .description =
              "Shows the containers of this node with virtual GPUs: their limits, the memory that "
              "they hold, and their recent use of the GPU's time. It shows the same by process, "
              "with the ids that processes have in their container. It reads the files of each "
              "container's limiting library, Tessera's or HAMi-core's, and the agent's records of "
              "its grants. The agent need not run. A running agent adds the names of pods, and "
              "knows which containers kubelet has no more. Only '-o wide' shows these containers, "
              "and names in full. A container can falsify the file of its own use, and no other.",
          .options = VgpuOptions(),
          .examples = {{"tessera vgpu", "See which containers use how much."},
                       {"tessera vgpu --for 10s", "Measure for longer."},
                       {"tessera vgpu -o json | jq '.containers[] | select(.problem)'",
                        "Select the containers with a problem."}},
          .run = ShowVgpus};
}

}  // namespace tessera::cli
