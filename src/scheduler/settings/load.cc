// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/load.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "scheduler/settings/device_config.h"
#include "scheduler/settings/options.h"

namespace tessera::scheduler {
namespace {

constexpr int64_t kDebugVerbosity = 5;

void Append(std::vector<config::Problem>& all, const std::vector<config::Problem>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void TakeFiles(Sources& sources, Loaded& loaded) {
  if (sources.hami) {
    const DeviceConfig read = ReadDeviceConfig(*sources.hami, loaded.settings, loaded.sources);
    Append(loaded.errors, read.errors);
    Append(loaded.warnings, read.warnings);
  }
  if (sources.own) {
    ReadOwnFile(*sources.own, loaded.settings, loaded.sources);
    Append(loaded.errors, sources.own->problems());
  }
}

// Stores the value of a flag or variable.
void TakeText(const Option& option, const std::string& text, std::string origin, Loaded& loaded) {
  const auto misfit = StoreLoosely(option, text, loaded.settings);
  if (misfit) {
    loaded.errors.push_back({.reason = misfit->reason,
                             .origin = origin,
                             .text = text,
                             .message = fmt::format("{} {}", option.Name(), misfit->message),
                             .suggestion = misfit->suggestion});
  }
  loaded.sources.insert_or_assign(option.Name(), std::move(origin));
}

void TakeEnvironment(const Sources& sources, Loaded& loaded) {
  for (const Option& option : Options()) {
    const auto found = sources.environment.find(std::string(option.variable));
    if (option.variable.empty() || found == sources.environment.end()) continue;
    // An empty variable counts as unset.
    if (found->second.empty()) continue;
    TakeText(option, found->second, fmt::format("environment {}", option.variable), loaded);
  }
}

void TakeFlags(const Sources& sources, Loaded& loaded) {
  Append(loaded.errors, sources.line.errors);
  for (const Option& option : Options()) {
    const auto given = sources.line.given.find(&option);
    if (given == sources.line.given.end()) continue;
    TakeText(option, given->second, fmt::format("flag --{}", option.flag), loaded);
  }
  for (const std::string& flags : sources.line.without_effect) {
    loaded.notes.push_back("without effect: " + flags);
  }
}

// Completes the placed vendors, ordered by name: from HAMi's file, else as in HAMi's chart.
void CompleteVendors(Settings& settings) {
  std::vector<hami::VendorConfig> others;
  for (const std::string_view family : hami::kFamilies) {
    if (!settings.Places(family)) continue;
    std::vector<hami::VendorConfig> configs;
    std::ranges::copy_if(settings.others, std::back_inserter(configs),
                         [&](const auto& config) { return config.family == family; });
    if (configs.empty()) configs = hami::UsualConfigs(family);
    others.insert(others.end(), configs.begin(), configs.end());
  }
  settings.others = std::move(others);
}

// Sets defaults that depend on other settings.
void Complete(Loaded& loaded) {
  Settings& settings = loaded.settings;
  settings.memory_factor = std::max<int64_t>(settings.memory_factor, 1);
  CompleteVendors(settings);
  if (settings.lease_name.empty() && !settings.scheduler_names.empty()) {
    settings.lease_name = settings.scheduler_names.front();
  }
  if (settings.verbosity >= kDebugVerbosity) {
    settings.log_level = "debug";
    loaded.sources.insert_or_assign("log.level", "flag -v");
  }
}

// Checks that involve more than one value.
class Rules {
 public:
  explicit Rules(Loaded& loaded) : loaded_(loaded), settings_(loaded.settings) {}

  void Check() {
    if (settings_.scheduler_names.empty()) {
      Tell(Reason::kConfigMissing, "schedulerNames", "needs at least one name");
    }
    if (settings_.device_policies.empty()) {
      Tell(Reason::kConfigMissing, "policies.devices", "needs at least one policy");
    }
    if (settings_.certificate_file.empty() != settings_.key_file.empty()) {
      const bool key_lacks = settings_.key_file.empty();
      Tell(Reason::kConfigMissing, key_lacks ? "webhook.keyFile" : "webhook.certificateFile",
           fmt::format("is needed with {}: name both, or neither",
                       key_lacks ? "webhook.certificateFile" : "webhook.keyFile"));
    }
    if (settings_.slot_weight + settings_.core_weight + settings_.memory_weight == 0) {
      Tell(Reason::kConfigBadValue, "policies.weights.slot",
           "is 0, and so are core and memory: at least one must be above 0");
    }
    CheckNames();
    CheckVendors();
    CheckDoor();
  }

 private:
  void CheckNames() {
    const std::array<std::pair<std::string_view, const std::string*>, 5> names = {
        {{"nvidia.count", &settings_.count_name},
         {"nvidia.memory", &settings_.memory_name},
         {"nvidia.percentage", &settings_.percentage_name},
         {"nvidia.cores", &settings_.cores_name},
         {"nvidia.priority", &settings_.priority_name}}};
    for (size_t i = 0; i < names.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (*names[i].second != *names[j].second) continue;
        Tell(
            Reason::kConfigDuplicate, names[i].first,
            fmt::format("is {}, the same as {}", config::Quoted(*names[i].second), names[j].first));
      }
    }
  }

  void CheckVendors() {
    if (settings_.vendors.empty()) {
      Tell(Reason::kConfigMissing, "vendors", "needs at least one vendor");
    }
    if (settings_.others.size() > hami::VendorTable::kMost) {
      Tell(Reason::kConfigBadValue, "vendors",
           fmt::format("have more than {} models", hami::VendorTable::kMost));
    }
    std::map<std::string, std::string> seen;  // the keys by resource name
    if (settings_.Places("nvidia")) {
      seen = {{settings_.count_name, "nvidia.count"},
              {settings_.memory_name, "nvidia.memory"},
              {settings_.percentage_name, "nvidia.percentage"},
              {settings_.cores_name, "nvidia.cores"},
              {settings_.priority_name, "nvidia.priority"}};
    }
    for (const hami::VendorConfig& config : settings_.others) {
      const std::string owner = config.word.empty() ? config.family : config.word;
      for (const std::string& name : {config.count, config.memory, config.cores, config.word}) {
        if (name.empty()) continue;
        const auto [first, fresh] = seen.emplace(name, owner);
        if (fresh) continue;
        Tell(Reason::kConfigDuplicate, "vendors",
             fmt::format("have {} twice: for {} and for {}", config::Quoted(name), first->second,
                         owner));
      }
    }
  }

  void CheckDoor() {
    const std::string& address = settings_.extender_address;
    if (address.starts_with("127.") || address.starts_with("[::1]")) return;
    loaded_.warnings.push_back(
        Problem(Reason::kConfigOpen, "extender.address",
                fmt::format("is {}, which other pods may reach to bind pods to nodes and devices; "
                            "127.0.0.1:9444 serves only this pod",
                            config::Quoted(address))));
  }

  void Tell(Reason reason, std::string_view key, std::string_view message) {
    loaded_.errors.push_back(Problem(reason, key, message));
  }

  config::Problem Problem(Reason reason, std::string_view key, std::string_view message) const {
    const auto found = loaded_.sources.find(key);
    return {.reason = reason,
            .origin = found == loaded_.sources.end() ? "settings" : found->second,
            .message = fmt::format("{} {}", key, message)};
  }

  Loaded& loaded_;
  const Settings& settings_;
};

}  // namespace

std::string Loaded::SourceOf(const Option& option) const {
  const auto found = sources.find(option.Name());
  return found == sources.end() ? "default" : found->second;
}

Loaded Load(Sources sources) {
  Loaded loaded;
  TakeFiles(sources, loaded);
  TakeEnvironment(sources, loaded);
  TakeFlags(sources, loaded);
  // After an invalid value, the rules' findings would only confuse.
  if (!loaded.ok()) return loaded;
  Complete(loaded);
  Rules(loaded).Check();
  return loaded;
}

Sources SourcesOf(CommandLine line,
                  const std::function<std::optional<std::string>(const std::string&)>& variable) {
  Sources sources{.line = std::move(line)};
  if (!sources.line.own_file.empty()) {
    sources.own = config::Document::Read(sources.line.own_file);
  }
  if (!sources.line.hami_file.empty()) {
    sources.hami = config::Document::Read(sources.line.hami_file);
  }
  for (const Option& option : Options()) {
    if (option.variable.empty()) continue;
    const std::string name(option.variable);
    if (auto value = variable(name)) sources.environment.emplace(name, *std::move(value));
  }
  return sources;
}

}  // namespace tessera::scheduler
