// SPDX-License-Identifier: Apache-2.0
#include "cli/config_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/load.h"
#include "config/schema.h"
#include "kinds/kinds.h"

namespace tessera::cli {
namespace {

// "time" -> "TIME"
std::string Placeholder(const config::Key& key) {
  if (key.type == config::Type::kInt) return "N";
  std::string text(config::TypeText(key.type));
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

// "The version of `this`." -> "the version of this", as other flags are described. An abbreviation
// at the start stays.
std::string Described(std::string_view text) {
  std::string doc(text);
  std::erase(doc, '`');
  if (doc.ends_with('.')) doc.pop_back();
  bool word = doc.size() > 1 && ((doc[1] >= 'a' && doc[1] <= 'z') || doc[1] == ' ');
  if (word && doc[0] >= 'A' && doc[0] <= 'Z') doc[0] = static_cast<char>(doc[0] - 'A' + 'a');
  return doc;
}

Option FlagOf(const config::PathKey& entry) {
  const config::Key& key = *entry.key;
  const std::string usual =
      key.default_note.empty() ? FullSchema().DefaultText(key) : std::string(key.default_note);
  std::string note = usual.empty() ? "" : fmt::format("[default: {}] ", usual);
  return {.name = "--" + config::FlagName(entry.path),
          .value = Placeholder(key),
          .help = Described(key.doc),
          .note = note + fmt::format("[env: {}]", config::EnvironmentName(entry.path)),
          .choices = key.values};
}

}  // namespace

Option ConfigFileFlag() {
  return {
      .name = "--config",
      .value = "FILE",
      .help = fmt::format("the configuration [default: {}, if it is there]", config::kDefaultFile)};
}

std::vector<Option> ConfigFlags() {
  std::vector<Option> flags = {ConfigFileFlag()};
  for (const config::PathKey& entry : config::FlagKeys()) flags.push_back(FlagOf(entry));
  return flags;
}

std::optional<std::string> ConfigFileIn(const Arguments& arguments) {
  if (!arguments.Has("config")) return {};
  return arguments.Get("config");
}

std::map<std::string, std::string> ConfigFlagsIn(const Arguments& arguments) {
  std::map<std::string, std::string> flags;
  const bool any = std::ranges::any_of(arguments.values(),
                                       [](const auto& given) { return given.first != "config"; });
  if (!any) return flags;  // the usual case; it spares a start the list of all keys
  for (const config::PathKey& entry : config::FlagKeys()) {
    std::string name = config::FlagName(entry.path);
    if (arguments.Has(name)) flags[name] = arguments.Get(name);
  }
  return flags;
}

}  // namespace tessera::cli
