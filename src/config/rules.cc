// SPDX-License-Identifier: Apache-2.0
#include "config/rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/text.h"
#include "config/schema.h"
#include "config/schema/family.h"

namespace tessera::config {
namespace {

bool Uses(const Resource& resource, Strategy strategy) {
  const std::vector<Strategy>& all = resource.rendering.strategies;
  return std::find(all.begin(), all.end(), strategy) != all.end();
}

// The first of the paths that is set, so that a report points at the file's own text.
std::string FirstSet(const Findings& findings, std::initializer_list<const char*> paths) {
  for (const char* path : paths) {
    if (findings.IsSet(path)) return path;
  }
  return *paths.begin();
}

void CheckHold(const HealthPolicy& policy, Findings& findings) {
  if (findings.IsBad("health.hold") || findings.IsBad("health.holdLimit")) return;
  if (policy.hold <= policy.hold_limit) return;
  findings.Report(Reason::kConfigBadValue, FirstSet(findings, {"health.holdLimit", "health.hold"}),
                  fmt::format("does not fit: 'hold' ({}) is longer than 'holdLimit' ({})",
                              FormatDuration(policy.hold), FormatDuration(policy.hold_limit)));
}

void CheckStale(const HealthConfig& health, Findings& findings) {
  for (const char* path : {"health.staleAfter", "health.checkInterval", "health.checkTimeout"}) {
    if (findings.IsBad(path)) return;
  }
  const Duration round = health.check_interval + health.check_timeout;
  if (health.stale_after >= round) return;
  findings.Report(
      Reason::kConfigBadValue,
      FirstSet(findings, {"health.staleAfter", "health.checkInterval", "health.checkTimeout"}),
      fmt::format("does not fit: 'checkInterval' and 'checkTimeout' together ({}) are longer than "
                  "'staleAfter' ({}), so every device would be unhealthy between two checks",
                  FormatDuration(round), FormatDuration(health.stale_after)));
}

void CheckFamily(const Resource& resource, const Kind& kind, const std::string& path,
                 Findings& findings) {
  if (!IsFamily(resource.name)) return;
  if (kind.families == nullptr) {
    findings.Report(Reason::kConfigBadName, path + ".name",
                    fmt::format("has {}, but devices of '{}' have no profiles", Quoted(kProfile),
                                kind.section.name));
  }
}

// A resource must have exactly one section with its kind of devices.
void CheckKind(const Kinds& kinds, const Config& config, size_t index, Findings& findings) {
  const std::string path = ResourcePath(index);
  if (findings.IsBad(path)) return;
  std::vector<std::string> names;
  std::vector<std::string> set;
  for (const Kind& kind : kinds) {
    const std::string& name = names.emplace_back(kind.section.name);
    if (findings.IsSet(JoinPath(path, name))) set.push_back(name);
  }
  if (set.empty()) {
    findings.Report(Reason::kConfigMissing, path,
                    fmt::format("needs one section of {}", Listed(names)));
    return;
  }
  for (size_t i = 1; i < set.size(); ++i) {
    findings.Report(Reason::kConfigBadValue, fmt::format("{}.{}", path, set[i]),
                    fmt::format("cannot be combined with '{}': a resource has one kind", set[0]));
  }
  const Kind* kind = KindOf(config.resources[index]);
  if (kind == nullptr || set.size() != 1) return;
  const std::string section = JoinPath(path, kind->section.name);
  CheckFamily(config.resources[index], *kind, path, findings);
  const Division division = config.resources[index].policy.division;
  const bool by_itself = division == Division::kWhole || division == Division::kReplicas;
  if (!by_itself && std::ranges::count(kind->divisions, division) == 0) {
    findings.Report(Reason::kConfigBadValue, path + ".policy",
                    fmt::format("is '{}', which devices of '{}' do not have",
                                DivisionName(division), kind->section.name));
  }
  if (!findings.IsBad(section)) kind->check(config, index, section, findings);
  CheckPrepares(*kind, config.resources[index], path, findings);
}

void CheckPolicy(const Resource& resource, const std::string& path, Findings& findings) {
  if (findings.IsBad(path + ".policy") || findings.IsBad(path + ".replicas")) return;
  const std::string_view policy = DivisionName(resource.policy.division);
  const bool divided = resource.policy.division != Division::kWhole;
  // A virtual GPU has a size even if it is the only one.
  const int least = resource.policy.division == Division::kVgpu ? 1 : 2;
  if (divided && !findings.IsSet(path + ".replicas")) {
    findings.Report(Reason::kConfigMissing, path + ".policy",
                    fmt::format("is '{}' and needs the key 'replicas'", policy));
  } else if (divided && resource.policy.replicas < least) {
    findings.Report(Reason::kConfigBadValue, path + ".replicas",
                    fmt::format("must be at least 2 with 'policy: {}'", policy));
  } else if (!divided && resource.policy.replicas > 1) {
    findings.Report(Reason::kConfigMissing, path + ".replicas", "needs 'policy: replicas'");
  }
  if (divided) return;
  constexpr std::string_view kNeeds = "needs 'policy: replicas'";
  if (resource.policy.separator != Policy().separator) {
    findings.Report(Reason::kConfigMissing, path + ".replicaSeparator", kNeeds);
  }
  if (resource.rendering.one_per_container) {
    findings.Report(Reason::kConfigMissing, path + ".onePerContainer", kNeeds);
  }
}

void CheckStrategies(const Resource& resource, const std::string& path, Findings& findings) {
  const std::string key = path + ".strategies";
  if (findings.IsBad(key)) return;
  std::set<Strategy> seen;
  for (Strategy strategy : resource.rendering.strategies) {
    if (!seen.insert(strategy).second) {
      findings.Report(Reason::kConfigDuplicate, key,
                      fmt::format("names '{}' twice", StrategyName(strategy)));
    }
  }
  if (seen.empty()) {
    findings.Report(Reason::kConfigMissing, key,
                    "must name at least one: containers would get nothing");
  }
  const bool cdi_set = !resource.rendering.cdi_kind.empty() || findings.IsBad(path + ".cdi.kind");
  for (Strategy strategy : {Strategy::kCdiAnnotations, Strategy::kCdiCri}) {
    if (cdi_set || !seen.contains(strategy)) continue;
    findings.Report(Reason::kConfigMissing, key,
                    fmt::format("has '{}', which needs 'cdi.kind'", StrategyName(strategy)));
  }
}

// Reports every pair of resources with an equal value that must be unique, at the later one.
// `value` returns a resource's; empty: it has none.
void CheckUnique(const Config& config, std::string_view key, std::string_view why,
                 const std::function<std::string(const Resource&)>& value,
                 const std::function<std::string(const Resource&)>& suggestion, Findings& findings,
                 bool (*may_share)(const Resource& one, const Resource& other) = nullptr) {
  std::map<std::string, size_t> first;
  for (size_t i = 0; i < config.resources.size(); ++i) {
    const std::string text = value(config.resources[i]);
    if (text.empty()) continue;
    const auto [entry, is_new] = first.emplace(text, i);
    if (is_new) continue;
    const Resource& other = config.resources[entry->second];
    // Values that are equal because the names are equal are reported for the name.
    if (other.name == config.resources[i].name && key != "name") continue;
    if (may_share != nullptr && may_share(other, config.resources[i])) continue;
    const std::string whose = text == other.name ? "" : fmt::format(" ({})", Quoted(other.name));
    findings.Report(Reason::kConfigDuplicate, fmt::format("{}.{}", ResourcePath(i), key),
                    fmt::format("{} is already that of {}{}{}", Quoted(text),
                                ResourcePath(entry->second), whose, why),
                    suggestion(config.resources[i]));
  }
}

// "dummy.com/big-npu" -> "DUMMY_BIG_NPU_VISIBLE_DEVICES".
std::string LongVariable(const Resource& resource) {
  std::string out;
  const auto add = [&](std::string_view text) {
    for (char c : text) {
      const bool lower = c >= 'a' && c <= 'z';
      const bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      out += lower ? static_cast<char>(c - 'a' + 'A') : kept ? c : '_';
    }
    out += '_';
  };
  const std::string_view name = resource.name;
  add(name.substr(0, name.find_first_of("./")));
  add(name.substr(name.find('/') + 1));
  return out + "VISIBLE_DEVICES";
}

void CheckAllUnique(const Config& config, Findings& findings) {
  const auto nothing = [](const Resource&) { return std::string(); };
  CheckUnique(
      config, "name", "",
      [](const Resource& resource) {
        // Several families may share a name; their kind has the rule.
        return IsFamily(resource.name) ? "" : resource.name;
      },
      nothing, findings);
  CheckUnique(
      config, "env", ": a container with both would get only one of them",
      [](const Resource& resource) {
        const Kind* kind = KindOf(resource);
        const bool own = kind == nullptr || !kind->runtime_reads_variable;
        return own && Uses(resource, Strategy::kEnvvar) ? resource.rendering.env : "";
      },
      LongVariable, findings);
  CheckUnique(
      config, "cdi.kind", ": their devices would have the same names",
      [](const Resource& resource) {
        // A document of another program has the devices of all resources.
        return resource.rendering.cdi_write ? resource.rendering.cdi_kind : "";
      },
      nothing, findings,
      [](const Resource& one, const Resource& other) {
        const Kind* kind = KindOf(one);
        // An id is then one piece of hardware, so one document can have it for either resource.
        return kind != nullptr && kind == KindOf(other) && kind->ids_are_of_hardware &&
               one.cdi_dir == other.cdi_dir;
      });
}

}  // namespace

std::string ResourcePath(size_t index) {
  return fmt::format("resources[{}]", index);
}

void CheckPrepares(const Kind& kind, const Resource& resource, const std::string& path,
                   Findings& findings) {
  if (!Prepares(kind, resource)) return;
  const auto told = [&](const char* key, const char* what) {
    findings.Report(
        Reason::kConfigBadValue, JoinPath(path, key),
        fmt::format("{}: devices of '{}' are prepared for each container, which needs CDI", what,
                    kind.section.name));
  };
  if (std::ranges::none_of(resource.rendering.strategies, IsCdi)) {
    told("strategies", "must have 'cdi-cri' or 'cdi-annotations'");
  }
  if (!resource.rendering.cdi_write) told("cdi.write", "must not be false");
  const auto& fractions = resource.rendering.fractions;
  const bool by_parts = fractions && fractions->prepared;
  if (resource.policy.division == Division::kVgpu && !by_parts)
    told("policy", "must not be 'vgpu'");
}

void Complete(const Kinds& kinds, Config& config) {
  for (size_t i = 0; i < config.resources.size(); ++i) {
    KindConfig& own = config.resources[i].kind;
    const auto kind = std::ranges::find_if(kinds, [&](const Kind& one) { return one.is(own); });
    if (kind == kinds.end()) continue;
    own.set_kind(&*kind);
    kind->complete(config, i);
  }
}

void CheckRules(const Kinds& kinds, const Config& config, Findings& findings) {
  CheckHold(config.health.policy, findings);
  CheckStale(config.health, findings);
  for (size_t i = 0; i < config.resources.size(); ++i) {
    CheckKind(kinds, config, i, findings);
    CheckPolicy(config.resources[i], ResourcePath(i), findings);
    CheckStrategies(config.resources[i], ResourcePath(i), findings);
  }
  CheckAllUnique(config, findings);
}

}  // namespace tessera::config
