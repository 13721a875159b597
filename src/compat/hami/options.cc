// SPDX-License-Identifier: Apache-2.0
#include "compat/hami/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "compat/nvidia/options.h"
#include "compat/nvidia/scalars.h"
#include "config/load.h"
#include "config/schema/checks.h"

namespace tessera::config::hami {
namespace {

// The limit of our own key.
constexpr int64_t kMostMemory = 100'000'000;  // MiB
constexpr int64_t kMostFactor = 1 << 20;
constexpr int64_t kMostScaling = 100;

std::optional<Misfit> CheckLogLevel(std::string_view text) {
  if (text.size() == 1 && text.front() >= '0' && text.front() <= '9') return std::nullopt;
  return Misfit{.reason = Reason::kConfigBadValue,
                .message = fmt::format("takes a digit, not {}", Quoted(text))};
}

std::optional<Misfit> CheckCorePolicy(std::string_view text) {
  const std::vector<std::string> values = {"default", "force", "disable"};
  const Parsed<std::string> value = ReadOneOf(text, values);
  return value ? std::nullopt : std::optional(value.error());
}

std::vector<Option> ResourceOptions() {
  return {
      {.name = "resourceCountName",
       .flag = "resource-name",
       .member = &Settings::count_name,
       .check = CheckResourceName,
       .doc = "the resource of virtual GPUs"},
      {.name = "resourceMemoryName", .member = &Settings::memory_name, .check = CheckResourceName},
      {.name = "resourceMemoryPercentageName",
       .member = &Settings::percentage_name,
       .check = CheckResourceName},
      {.name = "resourceCoreName", .member = &Settings::cores_name, .check = CheckResourceName},
      {.name = "defaultMemory", .member = &Settings::default_memory, .max = kMostMemory},
      {.name = "defaultCores", .member = &Settings::default_cores, .max = 100},
      {.name = "memoryFactor", .member = &Settings::memory_factor, .max = kMostFactor},
  };
}

std::vector<Option> NodeOptions() {
  return {
      {.name = "deviceSplitCount",
       .node_key = "devicesplitcount",
       .flag = "device-split-count",
       .variables = {"DEVICE_SPLIT_COUNT"},
       .member = &Settings::split_count,
       .min = 1,
       .max = kMostReplicas,
       .doc = "the most virtual GPUs of one GPU"},
      {.name = "deviceMemoryScaling",
       .node_key = "devicememoryscaling",
       .flag = "device-memory-scaling",
       .variables = {"DEVICE_MEMORY_SCALING"},
       .member = &Settings::memory_scaling,
       .max = kMostScaling,
       .doc = "the factor for a GPU's memory"},
      {.name = "deviceCoreScaling",
       .node_key = "devicecorescaling",
       .flag = "device-cores-scaling",
       .variables = {"DEVICE_CORES_SCALING"},
       .member = &Settings::core_scaling,
       .max = kMostScaling,
       .doc = "the factor for a GPU's compute time"},
      {.name = "preConfiguredDeviceMemory",
       .node_key = "preconfigureddevicememory",
       .member = &Settings::preconfigured_memory,
       .max = kMostMemory},
      {.name = "libCudaLogLevel",
       .node_key = "libcudaloglevel",
       .member = &Settings::log_level,
       .check = CheckLogLevel},
      {.name = "enableNumaTopology",
       .node_key = "enablenumatopology",
       .member = &Settings::numa_topology},
      {.name = "disableCoreLimit",
       .flag = "disable-core-limit",
       .variables = {"DISABLE_CORE_LIMIT"},
       .member = &Settings::disable_core_limit,
       .doc = "limit no container's compute time"},
      {.name = "gpuCorePolicy", .member = &Settings::core_policy, .check = CheckCorePolicy},
      {.name = "operatingMode",
       .in_file = false,
       .node_key = "operatingmode",
       .member = &Settings::operating_mode},
  };
}

std::vector<Option> PluginOptions() {
  return {
      {.name = "nodeName",
       .in_file = false,
       .flag = "node-name",
       .variables = {"NodeName", "NODE_NAME"},
       .member = &Settings::node_name,
       .doc = "the name of this node, as in config.json"},
      {.name = "hookPath",
       .in_file = false,
       .variables = {"HOOK_PATH"},
       .member = &Settings::hook_path,
       .check = CheckAbsolutePath},
      {.name = "enableTopologyScore",
       .in_file = false,
       .variables = {"ENABLE_TOPOLOGY_SCORE"},
       .member = &Settings::topology_score},
      {.name = "kubeconfig",
       .in_file = false,
       .variables = {"KUBECONFIG"},
       .member = &Settings::kubeconfig,
       .check = CheckAbsolutePath},
      {.name = "home", .in_file = false, .variables = {"HOME"}, .member = &Settings::home},
      {.name = "verbosity",
       .in_file = false,
       .flag = "v",
       .member = &Settings::verbosity,
       .max = 1000,
       .doc = "5 and more: the log's level is debug"},
  };
}

Misfit Outside(const Option& option, const std::string& text) {
  if (std::holds_alternative<double Settings::*>(option.member)) {
    return {.reason = Reason::kConfigBadValue,
            .message = fmt::format("takes a number above {} and up to {}, not {}", option.min,
                                   option.max, Quoted(text))};
  }
  return {.reason = Reason::kConfigBadValue,
          .message = fmt::format("takes a whole number from {} to {}, not {}", option.min,
                                 option.max, Quoted(text))};
}

// Stores a text in a member; one overload for each type.
struct Store {
  const Option& option;
  const std::string& text;
  Settings& settings;

  std::optional<Misfit> operator()(std::string Settings::* member) const {
    if (option.check != nullptr) {
      if (auto misfit = option.check(text)) return misfit;
    }
    settings.*member = text;
    return std::nullopt;
  }
  std::optional<Misfit> operator()(bool Settings::* member) const {
    const std::optional<bool> value = nvidia::SwitchValue(text);
    if (!value) {
      return Misfit{.message = fmt::format("takes true or false, not {}", Quoted(text))};
    }
    settings.*member = *value;
    return std::nullopt;
  }
  std::optional<Misfit> operator()(int64_t Settings::* member) const {
    const std::optional<int64_t> number = nvidia::WholeNumberOrFloat(text);
    if (number && *number >= option.min && *number <= option.max) {
      settings.*member = *number;
      return std::nullopt;
    }
    Misfit misfit = Outside(option, text);
    if (!ReadNumber(text)) misfit.reason = Reason::kConfigWrongType;
    return misfit;
  }
  std::optional<Misfit> operator()(double Settings::* member) const {
    const Parsed<double> number =
        ReadDecimal(text, static_cast<double>(option.min), static_cast<double>(option.max));
    if (!number) return number.error();
    settings.*member = *number;
    return std::nullopt;
  }
};

}  // namespace

const std::vector<Option>& Options() {
  static const std::vector<Option> options = [] {
    std::vector<Option> all = ResourceOptions();
    for (Option& option : NodeOptions()) all.push_back(std::move(option));
    for (Option& option : PluginOptions()) all.push_back(std::move(option));
    return all;
  }();
  return options;
}

std::optional<Misfit> SetText(const Option& option, const std::string& text, Settings& settings) {
  return std::visit(Store{option, text, settings}, option.member);
}

const std::vector<nvidia::FurtherFlag>& FurtherFlags() {
  static const std::vector<nvidia::FurtherFlag> flags = [] {
    std::vector<nvidia::FurtherFlag> all;
    for (const Option& option : Options()) {
      if (option.flag.empty()) continue;
      all.push_back({option.flag, option.IsSwitch()});
    }
    return all;
  }();
  return flags;
}

std::map<std::string, std::string> OwnEnvironment() {
  std::map<std::string, std::string> environment = EnvironmentOf([](std::string_view name) {
    return std::ranges::any_of(Options(), [&](const Option& option) {
      return std::ranges::count(option.variables, name) > 0;
    });
  });
  environment.merge(nvidia::OwnEnvironment());
  return environment;
}

std::optional<std::string> WithoutEffect(const Option& option, const Misfit& misfit) {
  if (misfit.reason != Reason::kConfigBadValue) return std::nullopt;
  return fmt::format("{} {}; this has no effect", option.Path(), misfit.message);
}

namespace {

void Take(const Option& option, const std::string& origin, const std::string& text,
          Settings& settings, Findings& findings) {
  const std::optional<Misfit> misfit = SetText(option, text, settings);
  const auto passed_over = misfit ? WithoutEffect(option, *misfit) : std::nullopt;
  if (passed_over) {
    findings.AddWarning(
        {.reason = misfit->reason, .origin = origin, .text = text, .message = *passed_over});
    return;
  }
  findings.SetOutside(option.Path(), origin, text, !misfit);
  if (misfit) findings.Report(misfit->reason, option.Path(), misfit->message);
}

}  // namespace

void ApplyEnvironment(const std::map<std::string, std::string>& environment, Settings& settings,
                      Findings& findings) {
  for (const Option& option : Options()) {
    for (const std::string& name : option.variables) {
      const auto found = environment.find(name);
      if (found == environment.end() || found->second.empty()) continue;
      Take(option, "environment " + name, found->second, settings, findings);
      break;
    }
  }
}

void ApplyFlags(const nvidia::CommandLine& line, Settings& settings, Findings& findings) {
  for (const Option& option : Options()) {
    const auto given = line.further.find(option.flag);
    if (option.flag.empty() || given == line.further.end()) continue;
    Take(option, fmt::format("flag --{}", option.flag), given->second, settings, findings);
  }
}

}  // namespace tessera::config::hami
