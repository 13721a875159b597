// SPDX-License-Identifier: Apache-2.0
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/control.h"

namespace tessera::cli {
namespace {

int AskForHealth(const Arguments& arguments) {
  const auto health = AskAgentForText(arguments, "/healthz");
  return health ? Print(*health) : PrintFailure(health.error());
}

}  // namespace

Command HealthCommand() {
  return {.name = "health",
          .summary = "check whether the agent answers, and what blocks it",
          .description =
              "Asks the agent over its control socket whether it is alive, and exits with 1 if it "
              "does not answer. No other user of the machine and no peer can keep this socket "
              "busy. Faults outside the agent, such as a full disk, are printed below 'ok': a "
              "restart would not mend them. The command is made for a liveness probe.",
          .options = {ControlOption()},
          .examples = {{"tessera health", "As the probe in deploy/ does."}},
          .run = AskForHealth};
}

}  // namespace tessera::cli
