// SPDX-License-Identifier: Apache-2.0
// Commands that are programs of their own now.
#include <fmt/format.h>

#include "cli/command/output.h"
#include "cli/commands.h"

namespace tessera::cli {
namespace {

Command Moved(const std::string& name) {
  const std::string now = "tessera-sim " + name;
  return {.name = name,
          .summary = fmt::format("is '{}'", now),
          .description = fmt::format("This is '{}', which is built next to this program.", now),
          .examples = {{"tessera " + name, "Says so."}},
          .reads_words = true,
          .run = [=](const Arguments&) {
            PrintToError(fmt::format("tessera: 'tessera {}' is '{}'\n", name, now));
            return kUsage;
          }};
}

}  // namespace

Command MovedDemoCommand() {
  return Moved("demo");
}

Command MovedKubeletCommand() {
  return Moved("kubelet");
}

Command MovedFaultCommand() {
  return Moved("fault");
}

}  // namespace tessera::cli
