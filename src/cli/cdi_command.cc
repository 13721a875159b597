// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "cdi/container_runtime.h"
#include "cli/cdi_files.h"
#include "cli/cdi_generate.h"
#include "cli/command/fields.h"
#include "cli/command/output.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/control.h"
#include "config/load.h"
#include "grant/grant.h"
#include "kinds/kinds.h"
#include "os/files.h"

namespace tessera::cli {
namespace {

// The line of a resource with a CDI strategy and no document of the agent's.
std::string WithoutDocument(const json::Object& resource) {
  const std::string name = TextIn(resource, "resource");
  const std::string kind = TextIn(resource, "kind");
  if (json::GetBool(resource, "write").value_or(true)) {
    return fmt::format("{}: the agent has not written the CDI document of {} yet\n", name, kind);
  }
  return fmt::format(
      "{}: another program writes the CDI document of {} ('write: false'); 'tessera cdi list' "
      "shows what there is\n",
      name, kind);
}

std::string DocumentsText(const json::Value& answer) {
  std::string out;
  std::set<std::string> written;
  for (const json::Object* entry : ObjectsIn(ObjectOf(answer), "documents")) {
    const json::Value* document = entry->if_contains("document");
    if (document == nullptr) continue;
    for (const std::string& name : Split(TextIn(*entry, "resource"), ',')) {
      written.emplace(Trim(name));
    }
    out += fmt::format("{}{} ({}):\n{}", out.empty() ? "" : "\n", TextIn(*entry, "path"),
                       TextIn(*entry, "resource"), json::WritePretty(*document));
  }
  for (const json::Object* resource : ObjectsIn(ObjectOf(answer), "resources")) {
    if (!written.contains(TextIn(*resource, "resource"))) out += WithoutDocument(*resource);
  }
  return out.empty() ? "no resource uses CDI: none has a CDI strategy in its configuration\n" : out;
}

int ShowCdi(const Arguments& arguments) {
  auto answer = AskAgent(arguments, {.path = "/cdi", .query = {}, .body = ""});
  if (!answer) return PrintFailure(answer.error());
  if (auto printed = PrintDocument(arguments, *answer)) return *printed;
  return Print(DocumentsText(*answer));
}

int GenerateDocuments(const Arguments& arguments) {
  const config::LoadResult loaded = SuitedToRuntime(
      config::LoadFile(FullSchema(), ConfigFileIn(arguments), config::OwnEnvironment(), {}));
  if (!loaded.ok()) {
    PrintToError(config::Text(loaded.errors));
    return kFailed;
  }
  const auto documents = GenerateCdi(loaded.config);
  if (!documents) return PrintFailure(documents.error());
  if (documents->empty()) {
    return PrintFailure({Reason::kNotFound, "no resource with a CDI strategy has a device here"});
  }
  std::string text;
  for (const cdi::Document& document : *documents) {
    const std::string path =
        fmt::format("{}/{}", arguments.Get("directory"), CdiFileName(document.kind));
    if (!arguments.Has("directory")) {
      text += cdi::Text(document);
    } else if (const Status put = os::ReplaceFile(path, cdi::Text(document), 0644); !put) {
      return PrintFailure(put.error());
    } else {
      text += path + "\n";
    }
  }
  return Print(text);
}

std::vector<std::string> DirectoriesIn(const Arguments& arguments) {
  std::vector<std::string> directories;
  for (const auto& [name, value] : arguments.repeated()) directories.push_back(value);
  if (directories.empty()) directories = {"/etc/cdi", "/var/run/cdi"};
  return directories;
}

int ListDevices(const Arguments& arguments) {
  const std::string text = CdiListText(ReadCdiFiles(DirectoriesIn(arguments)));
  return Print(text.empty() ? "no CDI document names a device\n" : text);
}

// From the agent, or from the default configuration if no agent answers.
std::vector<HostTree> TreesOf(const Arguments& arguments) {
  std::vector<HostTree> trees;
  const auto answer = AskAgent(arguments, {.path = "/cdi", .query = {}, .body = ""});
  if (answer) {
    for (const json::Object* tree : ObjectsIn(ObjectOf(*answer), "trees")) {
      trees.push_back({.seen = TextIn(*tree, "seen"), .host = TextIn(*tree, "host")});
    }
    return trees;
  }
  const config::LoadResult loaded =
      config::LoadFile(FullSchema(), std::nullopt, config::OwnEnvironment(), {});
  if (!loaded.ok()) return trees;
  for (const config::Resource& resource : loaded.config.resources) {
    const CdiDescriber* const cdi = KindOf(resource)->cdi;
    if (cdi == nullptr) continue;
    trees.push_back(cdi->TreeOf(os::Root(loaded.config.root_prefix), resource));
  }
  return trees;
}

std::string UnseenText(const std::set<std::string>& unseen) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> named(unseen.begin(), unseen.end());
  const size_t all = named.size();
  named.resize(std::min(all, kNamed));
  const std::string more = all > kNamed ? fmt::format(" and {} more", all - kNamed) : "";
  return fmt::format(
      "note: {} of the host that documents name {} not visible here: {}{}; run this on the host, "
      "or mount them\n",
      Count(all, "path"), all == 1 ? "is" : "are", Join(named, ", "), more);
}

int CheckDocuments(const Arguments& arguments) {
  const std::vector<CdiDocumentFile> files = ReadCdiFiles(DirectoriesIn(arguments));
  const auto [errors, unseen] = CheckCdiFiles(files, HostFiles::Here(TreesOf(arguments)));
  for (const Error& error : errors) PrintToError(error.Text() + "\n");
  if (!unseen.empty()) PrintToError(UnseenText(unseen));
  if (!errors.empty()) return kFailed;
  return Print(fmt::format("{}: good{}\n", Count(files.size(), "CDI document"),
                           unseen.empty() ? "" : ", apart from paths that are not visible here"));
}

Option DirectoryOption() {
  return {.name = "--directory",
          .value = "PATH",
          .help = "a directory of CDI documents; a later one overrides earlier ones",
          .note = "[default: /etc/cdi, then /var/run/cdi]",
          .repeated = true};
}

Command GenerateCommand() {
  return {
      .name = "generate",
      .summary = "print the CDI documents that an agent would write",
      .description =
          "Finds the devices of the configuration and prints the CDI documents for them, without "
          "an agent. If the configuration names no strategy, GPUs have a document only if the "
          "container runtime is known to read it.",
      .options = {{.name = "--config",
                   .value = "FILE",
                   .help = "the configuration",
                   .note = "[default: /etc/tessera/tessera.yaml, if it is there]"},
                  {.name = "--directory",
                   .value = "PATH",
                   .help = "write each document to a file in this directory, and print the paths"}},
      .examples = {{"tessera cdi generate --config tessera.yaml",
                    "See what a new configuration would inject."}},
      .run = GenerateDocuments};
}

Command ListCommand() {
  return {.name = "list",
          .summary = "list the CDI devices of this node and their documents",
          .description = "Lists all CDI devices of this node, from the documents of every program.",
          .options = {DirectoryOption()},
          .examples = {{"tessera cdi list", "See what a pod could be given by CDI."}},
          .run = ListDevices};
}

Command CheckCommand() {
  return {.name = "check",
          .summary = "check whether container runtimes accept this node's CDI documents",
          .description =
              "Reads every CDI document as strictly as runtimes do. It checks that the files in it "
              "exist, that no two documents name one device, and that only root can change them. "
              "In the agent's pod, it looks for the files below the host's mounted directories. A "
              "file in a directory that is not mounted is reported and is no error. The exit code "
              "is 1 if there is an error.",
          .options = {DirectoryOption(), ControlOption()},
          .examples = {{"tessera cdi check", "Find out why no container gets its device."}},
          .run = CheckDocuments};
}

}  // namespace

Command CdiCommand() {
  return {.name = "cdi",
          .summary = "print, list and check the CDI documents that container runtimes read",
          .description =
              "Prints the CDI documents of this node, each with the path where the container "
              "runtime finds it. They name what a runtime injects for every CDI name.",
          .options = {OutputOption({"text", "json", "yaml"}), ControlOption()},
          .examples = {{"tessera cdi", "See what a runtime would inject."}},
          .commands = {GenerateCommand(), ListCommand(), CheckCommand()},
          .run = ShowCdi};
}

}  // namespace tessera::cli
