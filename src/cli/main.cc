// SPDX-License-Identifier: Apache-2.0
#include "cli/main.h"

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/parse.h"

namespace tessera::cli {
namespace {

// What people try first with any program: `--version`, and `help COMMAND` for `COMMAND --help`.
void Translate(std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--version"}) words = {"version"};
  if (words.empty() || words.front() != "help") return;
  words.erase(words.begin());
  words.emplace_back("--help");
}

}  // namespace

Command Program() {
  return {
      .name = "tessera",
      .summary = "hands the devices of a node to Kubernetes pods",
      .description =
          "Tessera hands the devices of a node to Kubernetes pods, whole or in exact "
          "shares. 'tessera agent' is the daemon of a node; the other commands ask it, "
          "check its configuration, or let you try it with no cluster and no hardware.",
      .examples = {{"tessera demo", "Watch it work, on simulated devices."},
                   {"tessera agent --config /etc/tessera/tessera.yaml", "Serve this node."},
                   {"tessera devices", "See what is here and who holds it."}},
      .commands = {AgentCommand(), DemoCommand(), KubeletCommand(), DevicesCommand(),
                   ExplainCommand(), ConfigCommand(), FaultCommand(), CdiCommand(),
                   VersionCommand(), CompletionCommand(), ManCommand()},
  };
}

int Main(int argc, char** argv) {
  Command program = Program();
  std::vector<std::string> words(argv + 1, argv + argc);
  Translate(words);
  Parsed parsed = Parse(program, words);
  if (parsed.command != nullptr) return parsed.command->run(parsed.arguments);
  if (parsed.exit_code == kOk) return Print(parsed.text);
  PrintToError(parsed.text);
  return parsed.exit_code;
}

}  // namespace tessera::cli
