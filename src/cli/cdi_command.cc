// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/control.h"
#include "cli/fields.h"
#include "cli/output.h"

namespace tessera::cli {
namespace {

std::string DocumentsText(const json::Value& answer) {
  std::string out;
  for (const json::Object* entry : ObjectsIn(ObjectOf(answer), "documents")) {
    const json::Value* document = entry->if_contains("document");
    if (document == nullptr) continue;
    out += fmt::format("{}{} ({}):\n{}", out.empty() ? "" : "\n", TextIn(*entry, "path"),
                       TextIn(*entry, "resource"), json::WritePretty(*document));
  }
  return out.empty() ? "no resource uses CDI: none has a CDI strategy in its configuration\n" : out;
}

int ShowCdi(const Arguments& arguments) {
  auto answer = AskAgent(arguments, {.path = "/cdi", .query = {}, .body = ""});
  if (!answer) return PrintFailure(answer.error());
  if (auto printed = PrintDocument(arguments, *answer)) return *printed;
  return Print(DocumentsText(*answer));
}

}  // namespace

Command CdiCommand() {
  return {.name = "cdi",
          .summary = "the CDI documents that container runtimes read",
          .description =
              "Prints the CDI documents of this node, each under the path where the "
              "container runtime finds it: what would be injected for every CDI name.",
          .options = {OutputOption({"text", "json", "yaml"}), ControlOption()},
          .examples = {{"tessera cdi", "See what a runtime would inject."}},
          .run = ShowCdi};
}

}  // namespace tessera::cli
