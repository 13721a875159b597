// SPDX-License-Identifier: Apache-2.0
#include "compat/hami/load.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "compat/hami/device_config.h"
#include "compat/hami/translate.h"
#include "os/files.h"

namespace tessera::config::hami {
namespace {

constexpr char kNodeName[] = "node-name";
constexpr std::string_view kNvidiasVersion = "v1";

// GPU feature discovery has this flag too.
void TakeNodeName(const nvidia::CommandLine& line, LoadResult& loaded) {
  const auto given = line.further.find(kNodeName);
  const bool said = loaded.SourceOf("api.nodeName") != "default";
  if (given == line.further.end() || said) return;
  loaded.config.api.node_name = given->second;
  loaded.sources["api.nodeName"] = fmt::format("flag --{}", kNodeName);
}

// Warnings for HAMi's flags, as NVIDIA's plugin has no virtual GPUs.
std::vector<Problem> Misplaced(const nvidia::CommandLine& line) {
  std::vector<Problem> problems;
  for (const auto& [name, text] : line.further) {
    if (name == kNodeName) continue;
    problems.push_back({.reason = Reason::kConfigUnknownKey,
                        .origin = "flag --" + name,
                        .text = text,
                        .message = "is a flag of HAMi's device plugin and needs HAMi's "
                                   "configuration: give --config-file a file with a map 'nvidia'"});
  }
  return problems;
}

// As HAMi's plugin does if KUBECONFIG names none. In a pod it uses the service account.
void FindKubeconfig(Settings& settings) {
  const std::string path = settings.home + "/.kube/config";
  const bool absolute = settings.home.starts_with('/');
  if (settings.kubeconfig.empty() && absolute && os::Exists(path)) settings.kubeconfig = path;
}

}  // namespace

LoadResult Load(const Schema& schema, nvidia::Sources sources, const NodeConfig& node) {
  sources.shared_file = true;
  Findings findings(*sources.file);
  Settings settings;
  ReadDeviceConfig(*sources.file, settings, findings);
  Apply(node, settings, findings);
  ApplyEnvironment(sources.environment, settings, findings);
  ApplyFlags(sources.line, settings, findings);
  FindKubeconfig(settings);
  nvidia::Settings plugin = nvidia::ReadSettings(sources, findings);
  nvidia::Translated translated = Translate(settings, std::move(plugin), findings);
  return LoadForeign(schema,
                     {.config = std::move(translated.config),
                      .sources = std::move(translated.sources),
                      .errors = findings.SortedErrors(),
                      .warnings = findings.warnings(),
                      .undecided = translated.undecided},
                     sources.own_environment, sources.own_flags);
}

std::string NodeNameOf(const nvidia::Sources& sources) {
  const Document none;
  Findings findings(none);
  Settings settings;
  ApplyEnvironment(sources.environment, settings, findings);
  ApplyFlags(sources.line, settings, findings);
  return settings.node_name;
}

Format FormatOf(const Document& document) {
  if (IsDeviceConfig(document)) return Format::kHami;
  const Node& root = document.root();
  if (const Node* version = root.Find("version")) {
    return version->scalar == kNvidiasVersion ? Format::kNvidia : Format::kOwn;
  }
  const bool like_nvidias = root.Find("flags") != nullptr || root.Find("sharing") != nullptr;
  return like_nvidias ? Format::kNvidia : Format::kOwn;
}

LoadResult LoadEither(const Schema& schema, nvidia::Sources sources, NodeConfigFile& nodes) {
  if (!sources.file || !IsDeviceConfig(*sources.file)) {
    std::vector<Problem> misplaced = Misplaced(sources.line);
    LoadResult loaded = nvidia::Load(schema, sources);
    TakeNodeName(sources.line, loaded);
    if (sources.file) loaded.taken_for = "NVIDIA's";
    loaded.errors.insert(loaded.errors.end(), misplaced.begin(), misplaced.end());
    return loaded;
  }
  std::vector<Problem> warnings;
  const NodeConfig node = nodes.Read(NodeNameOf(sources), warnings);
  LoadResult loaded = Load(schema, std::move(sources), node);
  loaded.taken_for = "HAMi's";
  loaded.warnings.insert(loaded.warnings.begin(), warnings.begin(), warnings.end());
  return loaded;
}

}  // namespace tessera::config::hami
