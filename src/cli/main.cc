// SPDX-License-Identifier: Apache-2.0
#include "cli/main.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/command/parse.h"
#include "cli/command/version_command.h"
#include "cli/commands.h"

namespace tessera::cli {
namespace {

struct Row {
  std::string_view name;
  Command (*make)();
  Command (*make_for)(const std::vector<std::string>& words) =
      nullptr;  // null: the whole command is made
};
constexpr Row kCommands[] = {
    {"agent", AgentCommand, AgentCommandFor},
    {"demo", MovedDemoCommand},
    {"monitor", MonitorCommand},
    {"mps", MpsCommand},
    {"kubelet", MovedKubeletCommand},
    {"devices", DevicesCommand},
    {"explain", ExplainCommand},
    {"health", HealthCommand},
    {"config", ConfigCommand},
    {"release", ReleaseCommand},
    {"fault", MovedFaultCommand},
    {"cdi", CdiCommand},
    {"vgpu", VgpuCommand},
    {"labels", LabelsCommand},
    {"config-manager", ConfigManagerCommand},
    {"uninstall", UninstallCommand},
    {"version", [] { return VersionCommand("tessera"); }},
    {"completion", CompletionCommand},
    {"man", ManCommand},
};
// A name of one of NVIDIA's or AMD's programs. Under it this program replaces that one, and callers
// need not change.
struct Alias {
  std::string_view name;
  std::vector<std::string> words;
};
std::vector<Alias> Aliases() {
  return {{"nvidia-device-plugin", {"agent", "nvidia"}},
          {"k8s-device-plugin", {"agent", "rocm"}},
          {"config-manager", {"config-manager"}},
          {"mps-control-daemon", {"mps", "nvidia"}}};
}
// The only subcommand of NVIDIA's MPS daemon.
constexpr std::string_view kMountShm = "mount-shm";

// The program without its commands.
Command Alone() {
  return {
      .name = "tessera",
      .summary = "hands a node's devices to Kubernetes pods",
      .description =
          "Tessera hands the devices of a node to Kubernetes pods, whole or in exact shares. "
          "'tessera agent' is the daemon of a node. The other commands ask the agent or check its "
          "configuration. 'tessera-sim demo' shows it without a cluster or hardware.",
      .examples = {{"tessera agent --config /etc/tessera/tessera.yaml", "Serve this node."},
                   {"tessera devices", "See devices, their health and who holds them."}},
  };
}

// Spares the daemon's start the descriptions that only --help needs.
Command ProgramFor(const std::vector<std::string>& words) {
  const auto named =
      words.empty() ? std::end(kCommands) : std::ranges::find(kCommands, words.front(), &Row::name);
  if (named == std::end(kCommands)) return Program();
  Command program = Alone();
  program.commands.push_back(named->make_for == nullptr ? named->make() : named->make_for(words));
  return program;
}

}  // namespace

Command Program() {
  Command program = Alone();
  for (const Row& row : kCommands) program.commands.push_back(row.make());
  return program;
}

int Main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const std::string_view self = argc > 0 ? argv[0] : "";
  const std::vector<Alias> aliases = Aliases();
  const auto alias = std::ranges::find(aliases, FileName(self), &Alias::name);
  if (alias != aliases.end() && alias->words.front() == "mps" &&
      words == std::vector{std::string(kMountShm)}) {
    words = {"mps", std::string(kMountShm), "--at", "/mps/shm"};
  } else if (alias != aliases.end()) {
    words.insert(words.begin(), alias->words.begin(), alias->words.end());
  } else {
    TranslateHabits(words);
  }
  return Run(ProgramFor(words), words);
}

}  // namespace tessera::cli
