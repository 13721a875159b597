// SPDX-License-Identifier: Apache-2.0
#include "compat/hami/translate.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/nvidia/core/nvidia_config.h"
#include "compat/hami/node_config.h"

namespace tessera::config::hami {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr int64_t kDebug = 5;  // of the verbosity of klog; the chart of HAMi sets 4
constexpr char kMigStrategy[] = "flags.migStrategy";

using VirtualGpu = NvidiaConfig::Vgpu;

class Translation {
 public:
  Translation(const Settings& settings, nvidia::Settings plugin, Findings& findings)
      : settings_(settings), plugin_(std::move(plugin)), findings_(findings) {}

  nvidia::Translated Take() {
    CheckModes();
    LeaveOutSharing();
    ChooseStrategies();
    result_ = nvidia::Translate(plugin_, findings_);
    if (undecided_) LeaveCdiOpen();
    TranslateAgent();
    TranslateResource();
    TranslateFilter();
    return std::move(result_);
  }

 private:
  // Records that HAMi's setting `theirs` is the source of our `path`.
  void Note(const std::string& path, const std::string& theirs) {
    const std::string source = findings_.SourceOf(theirs);
    result_.sources[path] = source == "default" ? "HAMi's default" : source;
  }

  void CheckModes() {
    const std::string mode = "nvidia.operatingMode";
    if (settings_.operating_mode == "mig") {
      findings_.Report(
          Reason::kConfigUnsupported, mode,
          "is 'mig', but Tessera makes no MIG devices on demand; divide the GPUs beforehand and "
          "set '--mig-strategy=mixed', or set 'hami-core' for virtual GPUs");
    } else if (settings_.operating_mode != "hami-core") {
      findings_.Warn(Reason::kConfigUnsupported, mode,
                     fmt::format("is {}, which has no effect, as in HAMi's plugin: virtual GPUs "
                                 "are made as by 'hami-core'",
                                 Quoted(settings_.operating_mode)));
    }
    if (plugin_.mig_strategy == "single") {
      findings_.Report(Reason::kConfigUnsupported, kMigStrategy,
                       "is 'single', which would give MIG devices the name of virtual GPUs: set "
                       "'mixed', which names them by their profile, or 'none'");
    }
  }

  // Only MIG devices can be time-sliced; GPUs become virtual ones.
  void LeaveOutSharing() {
    if (plugin_.mps) {
      findings_.Warn(Reason::kConfigUnsupported, "sharing.mps",
                     "has no effect: GPUs are divided into virtual ones");
      plugin_.mps.reset();
    }
    if (!plugin_.time_slicing) return;
    const size_t removed = std::erase_if(plugin_.time_slicing->resources,
                                         [](const auto& shared) { return shared.name == kGpu; });
    if (removed == 0) return;
    findings_.Warn(Reason::kConfigUnsupported, "sharing.timeSlicing",
                   fmt::format("has no effect on {}: GPUs are divided into virtual ones", kGpu));
    if (plugin_.time_slicing->resources.empty()) plugin_.time_slicing.reset();
  }

  // CDI is best for pods' requests, as the grant can wait until its container is known. If no CDI
  // strategy is configured, the node's container runtime decides.
  void ChooseStrategies() {
    const auto is_cdi = [](const std::string& name) { return name.starts_with("cdi-"); };
    undecided_ = std::ranges::none_of(plugin_.list_strategies, is_cdi);
    if (undecided_) {
      plugin_.list_strategies.emplace_back("cdi-cri");
      return;
    }
    std::erase_if(plugin_.list_strategies, std::not_fn(is_cdi));
    plugin_.pass_device_specs = false;
  }

  // The documents' content is set; no strategy uses it yet.
  void LeaveCdiOpen() {
    result_.undecided = true;
    for (Resource& resource : result_.config.resources) {
      std::erase_if(resource.rendering.strategies, IsCdi);
    }
  }

  void TranslateAgent() {
    Config& config = result_.config;
    if (findings_.IsSet("nvidia.nodeName")) {
      config.api.node_name = settings_.node_name;
      Note("api.nodeName", "nvidia.nodeName");
    }
    if (!settings_.kubeconfig.empty()) {
      config.api.kubeconfig = settings_.kubeconfig;
      Note("api.kubeconfig", "nvidia.kubeconfig");
    }
    if (settings_.verbosity >= kDebug) {
      config.log_level = log::Level::kDebug;
      Note("log.level", "nvidia.verbosity");
    }
  }

  void TranslateResource() {
    Resource& gpu = result_.config.resources[0];
    NvidiaConfig& kind = *gpu.kind.As<NvidiaConfig>();
    gpu.name = settings_.count_name;
    Note("resources[0].name", "nvidia.resourceCountName");
    gpu.policy = {.division = Division::kVgpu,
                  .replicas = static_cast<int>(settings_.split_count),
                  .separator = Separator::kDash,
                  .tells_numa = settings_.numa_topology};
    Note("resources[0].policy", "nvidia");
    Note("resources[0].replicas", "nvidia.deviceSplitCount");
    Note("resources[0].replicaSeparator", "");
    Note("resources[0].numaTopology", "nvidia.enableNumaTopology");
    if (kind.in_mig_mode == NvidiaConfig::InMigMode::kWhole) {
      // A GPU in MIG mode cannot be divided in another way.
      kind.in_mig_mode = NvidiaConfig::InMigMode::kLeftOut;
    }
    kind.memory_if_untold = static_cast<int>(settings_.preconfigured_memory);
    Note("resources[0].nvidia.memoryIfUntold", "nvidia.preConfiguredDeviceMemory");
    TranslateVgpu(kind.vgpu);
    TranslateRequests(kind.vgpu);
    TranslateTunables(kind.vgpu);
  }

  void TranslateVgpu(VirtualGpu& vgpu) {
    const std::string at = "resources[0].nvidia.vgpu.";
    std::string_view hook = settings_.hook_path;
    while (hook.ends_with('/')) hook.remove_suffix(1);
    vgpu.directory = fmt::format("{}/vgpu", hook);
    Note(at + "directory", "nvidia.hookPath");
    vgpu.install = "/usr/lib/tessera/libvgpu.so";  // in the image
    Note(at + "install", "");
    vgpu.mode = VirtualGpu::Mode::kRequested;
    Note(at + "mode", "nvidia");
    vgpu.memory_scaling = settings_.memory_scaling;
    Note(at + "memoryScaling", "nvidia.deviceMemoryScaling");
    vgpu.core_scaling = settings_.core_scaling;
    Note(at + "coreScaling", "nvidia.deviceCoreScaling");
    vgpu.may_disable_control = true;
    Note(at + "allowDisableControl", "");
    vgpu.hami.topology_scores = settings_.topology_score == "true";
    Note(at + "hami.topologyScores", "nvidia.enableTopologyScore");
  }

  void TranslateRequests(VirtualGpu& vgpu) {
    const std::string at = "resources[0].nvidia.vgpu.";
    FractionRequests& requests = vgpu.requests;
    requests.memory_name = settings_.memory_name;
    Note(at + "memoryResource", "nvidia.resourceMemoryName");
    requests.percentage_name = settings_.percentage_name;
    Note(at + "memoryPercentageResource", "nvidia.resourceMemoryPercentageName");
    requests.cores_name = settings_.cores_name;
    Note(at + "coresResource", "nvidia.resourceCoreName");
    requests.default_memory = static_cast<int>(settings_.default_memory);
    Note(at + "defaultMemory", "nvidia.defaultMemory");
    requests.default_cores = static_cast<int>(settings_.default_cores);
    Note(at + "defaultCores", "nvidia.defaultCores");
    requests.memory_factor = std::max(static_cast<int>(settings_.memory_factor), 1);
    Note(at + "memoryFactor", "nvidia.memoryFactor");
  }

  // HAMi's webhook writes a non-default policy into pods, where it overrides the plugin's setting.
  void TranslateTunables(VirtualGpu& vgpu) {
    const std::string at = "resources[0].nvidia.vgpu.";
    const std::string disable = "nvidia.disableCoreLimit";
    const std::string policy = "nvidia.gpuCorePolicy";
    vgpu.log_level = settings_.log_level;
    Note(at + "logLevel", "nvidia.libCudaLogLevel");
    const bool has_policy = settings_.core_policy != "default";
    if (has_policy) vgpu.core_policy = settings_.core_policy;
    if (!has_policy && settings_.disable_core_limit) vgpu.core_policy = "disable";
    Note(at + "corePolicy", has_policy || !findings_.IsSet(disable) ? policy : disable);
    if (settings_.core_policy == "force" && settings_.disable_core_limit) {
      findings_.Warn(Reason::kConfigBadValue, disable,
                     "has no effect: 'gpuCorePolicy' is 'force', which HAMi's webhook writes into "
                     "pods");
    }
    vgpu.pod_may_tune = true;
    Note(at + "podCorePolicy", "");
  }

  // Filters all resources, or another resource would get the GPUs.
  void TranslateFilter() {
    std::vector<NvidiaConfig::Selector> exclude;
    std::vector<std::string> keys;
    for (const std::string& uuid : settings_.filtered_uuids) {
      exclude.push_back({.uuid = uuid});
      keys.emplace_back("uuid");
    }
    for (const int64_t index : settings_.filtered_indices) {
      exclude.push_back({.index = std::to_string(index)});
      keys.emplace_back("index");
    }
    if (exclude.size() > NvidiaConfig::kMostSelectors) {
      findings_.Report(
          Reason::kConfigBadValue, kFilter,
          fmt::format("has {} GPUs; it may have {}", exclude.size(), NvidiaConfig::kMostSelectors));
      return;
    }
    for (size_t i = 0; i < result_.config.resources.size(); ++i) {
      result_.config.resources[i].kind.As<NvidiaConfig>()->exclude = exclude;
      for (size_t j = 0; j < keys.size(); ++j) {
        const std::string at = fmt::format("resources[{}].nvidia.exclude[{}]", i, j);
        Note(at, kFilter);
        Note(fmt::format("{}.{}", at, keys[j]), kFilter);
      }
    }
  }

  const Settings& settings_;
  nvidia::Settings plugin_;
  Findings& findings_;
  bool undecided_ = false;
  nvidia::Translated result_;
};

}  // namespace

nvidia::Translated Translate(const Settings& settings, nvidia::Settings plugin,
                             Findings& findings) {
  return Translation(settings, std::move(plugin), findings).Take();
}

}  // namespace tessera::config::hami
