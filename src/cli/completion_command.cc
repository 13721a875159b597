// SPDX-License-Identifier: Apache-2.0
#include "cli/command/completion.h"
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/main.h"

namespace tessera::cli {
namespace {

int ShowCompletion(const Arguments& arguments) {
  Command program = Program();
  return Print(arguments.Get("SHELL") == "zsh" ? ZshCompletion(program) : BashCompletion(program));
}

}  // namespace

Command CompletionCommand() {
  return {.name = "completion",
          .summary = "print a completion script for your shell",
          .description = "Prints a script that completes commands, flags and their values.",
          .options = {{.name = "SHELL",
                       .help = "the shell",
                       .choices = {"bash", "zsh"},
                       .required = true}},
          .examples = {{"source <(tessera completion bash)", "For this bash."},
                       {"tessera completion zsh > /usr/share/zsh/vendor-completions/_tessera",
                        "For all users of zsh on this machine."}},
          .run = ShowCompletion};
}

}  // namespace tessera::cli
