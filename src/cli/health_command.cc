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
          .summary = "whether the agent answers, and what is in its way",
          .description =
              "Asks the agent over its control socket, which no other user of the machine and no "
              "peer can keep busy, whether it is alive; exits with 1 when it does not answer. "
              "What holds it up from outside, such as a full disk, is printed below 'ok': a "
              "restart would not mend that. For a liveness probe.",
          .options = {ControlOption()},
          .examples = {{"tessera health", "As the probe of deploy/ asks."}},
          .run = AskForHealth};
}

}  // namespace tessera::cli
