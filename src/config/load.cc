// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"
#include "config/reader.h"
#include "config/rules.h"
#include "config/schema/findings.h"
#include "config/show.h"
#include "os/files.h"

namespace tessera::config {
namespace {

constexpr std::string_view kOwnPrefix = "TESSERA_";

// Stores a text from outside the file.
void SetOutside(const Schema& schema, const PathKey& key, const std::string& text,
                const std::string& origin, Config& config, Findings& findings) {
  const Parsed<Value> value = schema.ParseValue(*key.key, text);
  findings.SetOutside(key.path, origin, text, value.has_value());
  if (value) {
    key.key->field.store(config, At{}, *value);
  } else {
    findings.Report(value.error().reason, key.path, value.error().message,
                    value.error().suggestion);
  }
}

void ApplyEnvironment(const Schema& schema, const std::map<std::string, std::string>& environment,
                      Config& config, Findings& findings) {
  if (environment.empty()) return;  // the usual case; it keeps a start short
  std::map<std::string, PathKey> keys;
  std::vector<std::string> names;
  for (const PathKey& key : FlagKeys()) {
    const std::string name = EnvironmentName(key.path);
    names.push_back(name.substr(kOwnPrefix.size()));
    keys.emplace(name, key);
  }
  for (const auto& [name, text] : environment) {
    const std::string origin = "environment " + name;
    if (const auto found = keys.find(name); found != keys.end()) {
      // Empty counts as unset, as manifests often cannot leave a variable out.
      if (!text.empty()) SetOutside(schema, found->second, text, origin, config, findings);
      continue;
    }
    // Warns only of likely typing errors: Kubernetes makes variables from the names of services.
    if (!name.starts_with(kOwnPrefix)) continue;
    if (const auto closest = Closest(name.substr(kOwnPrefix.size()), names)) {
      findings.AddWarning({.reason = Reason::kConfigUnknownKey,
                           .origin = origin,
                           .text = name,
                           .message = "is not a variable of Tessera's and has no effect",
                           .suggestion = fmt::format("{}{}", kOwnPrefix, *closest)});
    }
  }
}

void ApplyFlags(const Schema& schema, const std::map<std::string, std::string>& flags,
                Config& config, Findings& findings) {
  if (flags.empty()) return;
  std::map<std::string, PathKey> keys;
  std::vector<std::string> names;
  for (const PathKey& key : FlagKeys()) {
    names.push_back(FlagName(key.path));
    keys.emplace(names.back(), key);
  }
  for (const auto& [name, text] : flags) {
    const std::string origin = "flag --" + name;
    if (const auto found = keys.find(name); found != keys.end()) {
      SetOutside(schema, found->second, text, origin, config, findings);
      continue;
    }
    findings.Add({.reason = Reason::kConfigUnknownKey,
                  .origin = origin,
                  .text = name,
                  .message = "no such flag",
                  .suggestion = Closest(name, names).value_or("")});
  }
}

// The common end of all readings.
void Finish(const std::map<std::string, std::string>& environment,
            const std::map<std::string, std::string>& flags, Findings& findings,
            LoadResult& result) {
  ApplyEnvironment(*result.schema, environment, result.config, findings);
  ApplyFlags(*result.schema, flags, result.config, findings);
  Complete(result.schema->kinds(), result.config);
  CheckRules(result.schema->kinds(), result.config, findings);
  result.errors = findings.SortedErrors();
  result.warnings = findings.warnings();
  if (!result.ok()) return;
  result.sources = findings.Sources();
}

// Reports lists of more items than their keys allow.
void CheckSizes(const Shown& shown, Findings& findings) {
  const Key& key = *shown.key;
  if (key.type == Type::kList && !shown.is_item &&
      shown.children.size() > static_cast<size_t>(key.max)) {
    findings.Report(
        Reason::kConfigBadValue, shown.path,
        fmt::format("has {} items, at most {} are allowed", shown.children.size(), key.max));
  }
  for (const Shown& child : shown.children) CheckSizes(child, findings);
}

// Finish for settings that are known, with their sources.
enum class Sizes : bool { kChecked, kUnchecked };
void FinishFrom(const std::map<std::string, std::string>& sources, Sizes sizes,
                const std::map<std::string, std::string>& environment,
                const std::map<std::string, std::string>& flags, LoadResult& result) {
  const Document none;
  Findings findings(none);
  for (const auto& [path, source] : sources) findings.SetOutside(path, source, "", true);
  if (sizes == Sizes::kUnchecked) CheckSizes(Show(*result.schema, result.config), findings);
  Finish(environment, flags, findings, result);
}

std::vector<size_t> Undecided(const Config& config, const Findings& findings) {
  std::vector<size_t> undecided;
  for (size_t i = 0; i < config.resources.size(); ++i) {
    const Kind* kind = KindOf(config.resources[i]);
    if (kind == nullptr || kind->cdi == nullptr) continue;
    if (!config.resources[i].rendering.cdi_write) continue;
    if (!findings.IsSet(ResourcePath(i) + ".strategies")) undecided.push_back(i);
  }
  return undecided;
}

}  // namespace

std::string LoadResult::SourceOf(const std::string& path) const {
  const auto found = sources.find(path);
  return found == sources.end() ? "default" : found->second;
}

std::vector<Setting> LoadResult::Settings() const {
  std::vector<Setting> settings;
  if (!ok()) return settings;
  ForEachValue(Show(*schema, config), [&](const Shown& shown) {
    settings.push_back({shown.path, ValueText(shown.value), SourceOf(shown.path)});
  });
  return settings;
}

LoadResult Load(const Schema& schema, const Sources& sources) {
  LoadResult result{.schema = &schema};
  const Document none;
  const Document& document = sources.file ? *sources.file : none;
  Findings findings(document);
  if (sources.file) Reader(schema, result.config, findings, document).ReadAll();
  Finish(sources.environment, sources.flags, findings, result);
  result.undecided = Undecided(result.config, findings);
  if (result.config.resources.empty() && result.ok()) {
    result.warnings.push_back({.reason = Reason::kConfigMissing,
                               .origin = sources.file ? document.name() : "no configuration file",
                               .message = "no resources: the agent serves nothing"});
  }
  return result;
}

LoadResult PreferCdi(LoadResult loaded, const std::string& shown_by) {
  if (!loaded.ok() || loaded.undecided.empty()) return loaded;
  LoadResult suited{.schema = loaded.schema,
                    .config = loaded.config,
                    .undecided = loaded.undecided,
                    .taken_for = loaded.taken_for};
  std::map<std::string, std::string> sources = loaded.sources;
  for (const size_t i : suited.undecided) {
    Rendering& rendering = suited.config.resources[i].rendering;
    rendering.strategies = {Strategy::kCdiCri};
    sources[ResourcePath(i) + ".strategies"] = shown_by;
    if (!rendering.cdi_kind.empty()) continue;
    rendering.cdi_kind = KindOf(suited.config.resources[i])->cdi->CdiKind();
    sources[ResourcePath(i) + ".cdi.kind"] = shown_by;
  }
  FinishFrom(sources, Sizes::kChecked, {}, {}, suited);
  if (!suited.ok()) {
    Problem why = std::move(suited.errors.front());
    why.origin = shown_by;
    why.message = "supports CDI, which is used only if 'strategies' say so: " + why.message;
    loaded.warnings.push_back(std::move(why));
    return loaded;
  }
  suited.warnings = std::move(loaded.warnings);
  // With CDI no pod can name devices.
  std::erase_if(suited.warnings,
                [](const Problem& warning) { return warning.reason == Reason::kConfigOpen; });
  return suited;
}

LoadResult LoadForeign(const Schema& schema, Foreign foreign,
                       const std::map<std::string, std::string>& environment,
                       const std::map<std::string, std::string>& flags) {
  LoadResult result{.schema = &schema, .config = std::move(foreign.config)};
  FinishFrom(foreign.sources, Sizes::kUnchecked, environment, flags, result);
  for (size_t i = 0; foreign.undecided && i < result.config.resources.size(); ++i) {
    result.undecided.push_back(i);
  }
  // Errors of the foreign format may break our rules too; reports of these would only confuse.
  if (!foreign.errors.empty()) result.errors = std::move(foreign.errors);
  result.warnings.insert(result.warnings.begin(), foreign.warnings.begin(), foreign.warnings.end());
  return result;
}

LoadResult LoadFile(const Schema& schema, const std::optional<std::string>& path,
                    const std::map<std::string, std::string>& environment,
                    const std::map<std::string, std::string>& flags) {
  Sources sources{.file = std::nullopt, .environment = environment, .flags = flags};
  if (path) {
    sources.file = Document::Read(*path);
  } else if (os::Exists(kDefaultFile)) {
    sources.file = Document::Read(kDefaultFile);
  }
  return Load(schema, sources);
}

std::map<std::string, std::string> OwnEnvironment() {
  return EnvironmentOf([](std::string_view name) { return name.starts_with(kOwnPrefix); });
}

std::map<std::string, std::string> EnvironmentOf(
    const std::function<bool(std::string_view name)>& wanted) {
  std::map<std::string, std::string> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || !wanted(text.substr(0, equals))) continue;
    found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

}  // namespace tessera::config
