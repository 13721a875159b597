// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "version.h"

namespace tessera::cli {
namespace {

int ShowVersion(const Arguments& arguments) {
  if (arguments.Get("output") == "json") {
    json::Object version{
        {"version", TESSERA_VERSION}, {"commit", TESSERA_COMMIT}, {"build", TESSERA_BUILD}};
    return Print(json::WritePretty(std::move(version)));
  }
  return Print(
      fmt::format("tessera {} (commit {}, {})\n", TESSERA_VERSION, TESSERA_COMMIT, TESSERA_BUILD));
}

}  // namespace

Command VersionCommand() {
  return {.name = "version",
          .summary = "which build this is",
          .description = "Prints the version, the commit and how the program was built.",
          .options = {{.name = "--output",
                       .value = "FORMAT",
                       .help = "form of the answer",
                       .letter = 'o',
                       .fallback = "text",
                       .choices = {"text", "json"}}},
          .examples = {{"tessera version -o json", "For scripts."}},
          .run = ShowVersion};
}

}  // namespace tessera::cli
