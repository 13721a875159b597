// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/command/output.h"
#include "cli/command/version_command.h"
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

int ShowVersion(const std::string& program, const Arguments& arguments) {
  const bool libraries = arguments.Has("libraries");
  json::Object version{
      {"version", TESSERA_VERSION}, {"commit", TESSERA_COMMIT}, {"build", TESSERA_BUILD}};
  if (libraries) version["libraries"] = Libraries();
  if (auto printed = PrintDocument(arguments, std::move(version))) return *printed;
  if (libraries) return Print(LibrariesText());
  return Print(fmt::format("{} {} (commit {}, {})\n", program, TESSERA_VERSION, TESSERA_COMMIT,
                           TESSERA_BUILD));
}

}  // namespace

Command VersionCommand(const std::string& program) {
  return {.name = "version",
          .summary = "print the version and commit of this build",
          .description = "Prints the version, the commit and how the program was built.",
          .options = {{.name = "--libraries",
                       .help = "print the Debian source packages in the program, which updates of "
                               "the node do not reach"},
                      OutputOption({"text", "json", "yaml"})},
          .examples = {{program + " version -o json", "For scripts."},
                       {program + " version --libraries", "To compare with Debian's advisories."}},
          .run = [program](const Arguments& arguments) { return ShowVersion(program, arguments); }};
}

}  // namespace tessera::cli
