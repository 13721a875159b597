// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "version.h"

namespace tessera::cli {
namespace {

json::Array Libraries() {
  json::Array all;
  for (const Linked& library : LinkedLibraries()) {
    all.push_back(json::Object{{"name", library.name}, {"version", library.version}});
  }
  return all;
}

std::string LibrariesText() {
  if (LinkedLibraries().empty()) return "libraries are those of the system\n";
  std::string text;
  for (const Linked& library : LinkedLibraries()) {
    text += fmt::format("{:<20} {}\n", library.name, library.version);
  }
  return text;
}

int ShowVersion(const Arguments& arguments) {
  const bool libraries = arguments.Has("libraries");
  json::Object version{
      {"version", TESSERA_VERSION}, {"commit", TESSERA_COMMIT}, {"build", TESSERA_BUILD}};
  if (libraries) version["libraries"] = Libraries();
  if (auto printed = PrintDocument(arguments, std::move(version))) return *printed;
  if (libraries) return Print(LibrariesText());
  return Print(
      fmt::format("tessera {} (commit {}, {})\n", TESSERA_VERSION, TESSERA_COMMIT, TESSERA_BUILD));
}

}  // namespace

Command VersionCommand() {
  return {.name = "version",
          .summary = "which build this is",
          .description = "Prints the version, the commit and how the program was built.",
          .options = {{.name = "--libraries",
                       .help = "What is linked in: Debian's source packages and their versions, "
                               "which updates of the node do not reach."},
                      OutputOption({"text", "json", "yaml"})},
          .examples = {{"tessera version -o json", "For scripts."},
                       {"tessera version --libraries", "To compare with Debian's advisories."}},
          .run = ShowVersion};
}

}  // namespace tessera::cli
