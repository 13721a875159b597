// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "version.h"

namespace tessera::cli {
namespace {

int ShowVersion(const Arguments& arguments) {
  json::Object version{
      {"version", TESSERA_VERSION}, {"commit", TESSERA_COMMIT}, {"build", TESSERA_BUILD}};
  if (auto printed = PrintDocument(arguments, std::move(version))) return *printed;
  return Print(
      fmt::format("tessera {} (commit {}, {})\n", TESSERA_VERSION, TESSERA_COMMIT, TESSERA_BUILD));
}

}  // namespace

Command VersionCommand() {
  return {.name = "version",
          .summary = "which build this is",
          .description = "Prints the version, the commit and how the program was built.",
          .options = {OutputOption({"text", "json", "yaml"})},
          .examples = {{"tessera version -o json", "For scripts."}},
          .run = ShowVersion};
}

}  // namespace tessera::cli
