// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/translate.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "backend/nvidia/core/nvidia_config.h"
#include "backend/nvidia/mps/config.h"
#include "compat/nvidia/options.h"
#include "config/schema/checks.h"
#include "config/schema/family.h"
#include "config/schema/problem.h"

namespace tessera::config::nvidia {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::string_view kMig = "nvidia.com/mig-";  // followed by a profile
constexpr uint64_t kMaxXid = 9'999;                   // as our own key has it
constexpr char kMpsMount[] = "/mps";  // where NVIDIA's DaemonSets mount flags.mpsRoot
constexpr char kCdiKind[] = "k8s.device-plugin.nvidia.com/gpu";
constexpr char kStrategies[] = "flags.plugin.deviceListStrategy";

using Pieces = std::map<std::string_view, std::optional<tessera::nvidia::CdiPiece>>;

// The meaning of NVIDIA's names; null: our documents never have such a piece.
const Pieces& HookPieces() {
  using tessera::nvidia::CdiPiece;
  static const Pieces pieces = {
      {"all", CdiPiece::kHooks},
      {"create-symlinks", CdiPiece::kCreateSymlinks},
      {"enable-cuda-compat", CdiPiece::kEnableCudaCompat},
      {"update-ldcache", CdiPiece::kUpdateLdcache},
      {"disable-device-node-modification", CdiPiece::kDisableDeviceNodeModification},
      {"update-application-profile", CdiPiece::kUpdateApplicationProfile},
      {"chmod", std::nullopt}};
  return pieces;
}
const Pieces& FlagPieces() {
  using tessera::nvidia::CdiPiece;
  static const Pieces pieces = {{"no-additional-gids-for-device-nodes", CdiPiece::kAdditionalGids},
                                {"disable-ipc-discoverer", CdiPiece::kIpcSockets},
                                {"disable-nvsandboxutils", std::nullopt}};
  return pieces;
}

class Translation {
 public:
  Translation(const Settings& settings, Findings& findings)
      : settings_(settings), findings_(findings) {}

  Translated Take() {
    TranslateKubelet();
    TranslateDiscovery();
    TranslateResource();
    return std::move(result_);
  }

 private:
  // Records that the setting `theirs` is the source of our `path`.
  void Note(const std::string& path, const std::string& theirs) {
    const std::string source = findings_.SourceOf(theirs);
    result_.sources[path] = source == "default" ? "NVIDIA's default" : source;
  }

  // Warns also about a path that is not set.
  void Warn(Reason reason, const std::string& path, const std::string& message) {
    if (findings_.IsSet(path)) return findings_.Warn(reason, path, message);
    findings_.AddWarning({.reason = reason,
                          .origin = "NVIDIA's default",
                          .text = path,
                          .message = fmt::format("{} {}", path, message)});
  }

  // NVIDIA's plugin takes an empty path as the root, and looks for relative paths from there.
  std::string Directory(const std::string& path, const std::string& value) {
    if (value.empty()) return "/";
    if (!CheckAbsolutePath(value)) return value;
    const std::string absolute = (std::filesystem::path("/") / value).lexically_normal();
    Warn(Reason::kConfigBadValue, path,
         fmt::format("is {}: {} is used", Quoted(value), Quoted(absolute)));
    return absolute;
  }

  // Without the setting, kubelet is looked for in all its usual places.
  void TranslateKubelet() {
    constexpr std::string_view kEnd = "/device-plugins/kubelet.sock";
    const std::string path = "kubelet-socket";
    const std::string& socket = settings_.kubelet_socket;
    if (!findings_.IsSet(path)) return;
    if (CheckAbsolutePath(socket) || !socket.ends_with(kEnd)) {
      findings_.Warn(Reason::kConfigUnsupported, path,
                     fmt::format("is {} and has no effect: kubelet is looked for in its usual "
                                 "places; DIRECTORY{} says where its directory is",
                                 Quoted(socket), kEnd));
      return;
    }
    std::string root = socket.substr(0, socket.size() - kEnd.size());
    result_.config.kubelet.root = root.empty() ? "/" : root;
    Note("kubelet.root", path);
  }

  // Settings of GPU feature discovery apply to the agent's labels.
  void TranslateDiscovery() {
    constexpr Duration kShortest{1'000};
    constexpr Duration kLongest{86'400'000};  // as our own key has it
    LabelsConfig& labels = result_.config.labels;
    if (settings_.discovery_strategy == "vfio") {
      labels.gpus = LabelledGpus::kVfio;
      Note("labels.gpus", "flags.deviceDiscoveryStrategy");
    }
    if (const std::string path = "flags.gfd.noTimestamp"; findings_.IsSet(path)) {
      labels.timestamp = !settings_.gfd_no_timestamp;
      Note("labels.timestamp", path);
    }
    if (const std::string path = "flags.gfd.sleepInterval"; findings_.IsSet(path)) {
      labels.sleep_interval = std::clamp(settings_.gfd_sleep_interval, kShortest, kLongest);
      Note("labels.sleepInterval", path);
    }
    TranslateFile(settings_.gfd_output_file, "flags.gfd.outputFile", "labels.file", labels.file);
    TranslateFile(settings_.gfd_machine_type_file, "flags.gfd.machineTypeFile",
                  "labels.machineTypeFile", labels.machine_type_file);
    TranslateFile(settings_.kubeconfig, "kubeconfig", "api.kubeconfig",
                  result_.config.api.kubeconfig);
  }
  void TranslateFile(const std::string& value, const std::string& theirs, const std::string& ours,
                     std::string& member) {
    if (!findings_.IsSet(theirs)) return;
    if (CheckAbsolutePath(value)) return;  // labels may be off, so the file is not refused
    member = value;
    Note(ours, theirs);
  }

  void TranslateResource() {
    Resource& resource = result_.config.resources.emplace_back();
    resource.name = kGpu;
    TranslateRendering(resource);
    TranslateKind(resource);
    TranslateSharing();
    if (IsMixed()) AddFamily("*", "");
  }

  bool IsMixed() const { return settings_.mig_strategy == "mixed"; }

  // Adds a family of MIG devices with these profiles. Its other settings are the first resource's.
  Resource& AddFamily(const std::string& profiles, std::string_view suffix) {
    const std::string at = fmt::format("resources[{}]", result_.config.resources.size());
    Resource family = result_.config.resources[0];
    family.name = fmt::format("{}{}{}", kMig, kProfile, suffix);
    family.policy = Policy();
    family.rendering.one_per_container = false;
    family.kind.As<NvidiaConfig>()->mig = profiles;
    constexpr std::string_view kFirst = "resources[0]";
    const std::set<std::string> own = {".name", ".policy", ".replicas", ".onePerContainer"};
    std::vector<std::pair<std::string, std::string>> copies;
    for (auto it = result_.sources.lower_bound(std::string(kFirst));
         it != result_.sources.end() && it->first.starts_with(kFirst); ++it) {
      const std::string key = it->first.substr(kFirst.size());
      if (!own.contains(key)) copies.emplace_back(at + key, it->second);
    }
    for (auto& [path, source] : copies) result_.sources[path] = std::move(source);
    Note(at + ".name", "flags.migStrategy");
    Note(at + ".nvidia.mig", "flags.migStrategy");
    return result_.config.resources.emplace_back(std::move(family));
  }

  void TranslateRendering(Resource& resource) {
    const std::string policy = "flags.plugin.sharedDevicesAllocationPolicy";
    resource.placement =
        settings_.allocation_policy == "packed" ? Placement::kPack : Placement::kSpread;
    if (findings_.IsSet(policy)) {
      Note("resources[0].placement", policy);
    }

    resource.rendering.strategies.clear();
    for (const std::string& name : settings_.list_strategies) {
      const auto strategy = StrategyFromName(name);
      // An unknown strategy was reported when it was read.
      if (strategy && strategy != Strategy::kDeviceSpecs && !Uses(resource, *strategy)) {
        resource.rendering.strategies.push_back(*strategy);
      }
    }
    if (settings_.pass_device_specs) {
      resource.rendering.strategies.push_back(Strategy::kDeviceSpecs);
    }
    const bool specs =
        findings_.IsSet("flags.plugin.passDeviceSpecs") && !findings_.IsSet(kStrategies);
    Note("resources[0].strategies", specs ? "flags.plugin.passDeviceSpecs" : kStrategies);
    if (Uses(resource, Strategy::kCdiAnnotations) || Uses(resource, Strategy::kCdiCri)) {
      TranslateCdi(resource.rendering);
    }
    if (Uses(resource, Strategy::kEnvvar) && !Uses(resource, Strategy::kVolumeMounts)) {
      Warn(Reason::kConfigOpen, kStrategies,
           "has 'envvar', which lets a pod without a grant use GPUs: docs/explain/security.md says "
           "how to prevent that");
    }
  }

  static bool Uses(const Resource& resource, Strategy strategy) {
    return std::ranges::count(resource.rendering.strategies, strategy) > 0;
  }

  void TranslateCdi(Rendering& rendering) {
    const std::string prefix = "flags.plugin.cdiAnnotationPrefix";
    rendering.cdi_kind = kCdiKind;
    constexpr std::string_view kBehind = "nvidia-device-plugin_";
    rendering.cdi_annotation_prefix = fmt::format("{}{}", settings_.cdi_annotation_prefix, kBehind);
    Note("resources[0].cdi.kind", kStrategies);
    Note("resources[0].cdi.annotationPrefix", prefix);
    if (const auto misfit = CheckAnnotationPrefix(rendering.cdi_annotation_prefix)) {
      // Runtimes look only at the prefix.
      const std::string usual = Settings().cdi_annotation_prefix;
      rendering.cdi_annotation_prefix = fmt::format("{}{}", usual, kBehind);
      findings_.Warn(
          misfit->reason, prefix,
          fmt::format("and '{}' after it {}; {} is used", kBehind, misfit->message, Quoted(usual)));
    }
  }

  // Settings of the documents alone.
  void TranslateCdiDocument(NvidiaConfig& kind) {
    const std::string hook = "flags.plugin.nvidiaCTKPath";
    // Without the setting, the hook is looked for.
    if (findings_.IsSet(hook) && CheckAbsolutePath(settings_.cdi_hook_path)) {
      findings_.Warn(Reason::kConfigBadValue, hook,
                     fmt::format("is {}, which is not an absolute path and has no effect: the hook "
                                 "is looked for in its usual places",
                                 Quoted(settings_.cdi_hook_path)));
    } else if (findings_.IsSet(hook)) {
      kind.cdi_hook_path = settings_.cdi_hook_path;
      Note("resources[0].nvidia.cdiHookPath", hook);
    }
    for (const std::string& name : settings_.cdi_disable_hooks) {
      LeaveOut("cdi-disable-hooks", HookPieces(), name, kind);
    }
    for (const std::string& name : settings_.cdi_feature_flags) {
      LeaveOut("cdi-feature-flags", FlagPieces(), name, kind);
    }
  }

  void LeaveOut(const std::string& path, const Pieces& pieces, const std::string& name,
                NvidiaConfig& kind) {
    if (name.empty()) return;
    const auto piece = pieces.find(name);
    if (piece == pieces.end()) {
      findings_.Warn(Reason::kConfigUnsupported, path,
                     fmt::format("has {}, which has no effect", Quoted(name)));
      return;
    }
    if (!piece->second || std::ranges::count(kind.cdi_leave_out, *piece->second) > 0) return;
    kind.cdi_leave_out.push_back(*piece->second);
    Note("resources[0].nvidia.cdiLeaveOut", path);
  }

  void TranslateExtras(NvidiaConfig& kind) {
    struct Row {
      bool Settings::* wanted;
      tessera::nvidia::Feature feature;
      const char* path;
    };
    for (const Row& row :
         {Row{&Settings::gdrcopy, tessera::nvidia::Feature::kGdrcopy, "flags.gdrcopyEnabled"},
          Row{&Settings::gds, tessera::nvidia::Feature::kGds, "flags.gdsEnabled"},
          Row{&Settings::mofed, tessera::nvidia::Feature::kMofed, "flags.mofedEnabled"}}) {
      if (!(settings_.*row.wanted)) continue;
      kind.features.push_back(row.feature);
      Note("resources[0].nvidia.features", row.path);
    }
    if (!settings_.imex_channels.empty()) {
      kind.imex = settings_.imex_required ? tessera::nvidia::Imex::kRequired
                                          : tessera::nvidia::Imex::kOptional;
      Note("resources[0].nvidia.imex", "imex.channelIDs");
    }
    if (settings_.id_strategy == "index") {
      kind.id_strategy = tessera::nvidia::IdStrategy::kIndex;
      Note("resources[0].nvidia.idStrategy", "flags.plugin.deviceIDStrategy");
    }
    // The plugin's default is true. The agent ends only if the user set it.
    const std::string fail = "flags.failOnInitError";
    if (findings_.IsSet(fail)) {
      // With labels for GPUs of vfio-pci, the driver may be absent.
      kind.fail_on_init_error =
          settings_.fail_on_init_error && settings_.discovery_strategy != "vfio";
      Note("resources[0].nvidia.failOnInitError", fail);
    }
  }

  void TellNoXid(const char* variable, const std::string& text) {
    findings_.Warn(Reason::kConfigBadValue, variable,
                   fmt::format("has {}, which is not an XID and has no effect", Quoted(text)));
  }

  void TranslateXids(NvidiaConfig& kind) {
    const std::string& disabled = settings_.disabled_xids;
    const std::string& enabled = settings_.enabled_xids;
    for (const auto& text : tessera::nvidia::ApplyXidVariables({}, disabled, "").not_understood) {
      TellNoXid(kDisabledXids, text);
    }
    for (const auto& text : tessera::nvidia::ApplyXidVariables({}, "", enabled).not_understood) {
      TellNoXid(kEnabledXids, text);
    }
    const auto made = tessera::nvidia::ApplyXidVariables({}, disabled, enabled);
    const tessera::nvidia::XidPolicy& policy = made.policy;
    if (made.zero_is_all) {
      findings_.Warn(Reason::kConfigBadValue, kEnabledXids,
                     "has '0', by which every XID counts, as in NVIDIA's plugin: write 'all'");
    }
    for (const auto& [number, xid_class] : policy.classes) {
      const bool off = xid_class == tessera::nvidia::XidClass::kApplication;
      const char* variable = off ? kDisabledXids : kEnabledXids;
      if (number == 0 || number > kMaxXid) {
        TellNoXid(variable, std::to_string(number));
        continue;
      }
      Note("resources[0].nvidia.xids", variable);
      const std::string at = fmt::format("resources[0].nvidia.xids[{}]", kind.xids.size());
      kind.xids.push_back({.xid = static_cast<int>(number), .xid_class = xid_class});
      Note(at + ".xid", variable);
      Note(at + ".class", variable);
    }
    if (!policy.ignore_others && !policy.count_all) return;
    kind.other_xids = policy.ignore_others ? tessera::nvidia::OtherXids::kIgnore
                                           : tessera::nvidia::OtherXids::kCount;
    Note("resources[0].nvidia.otherXids", policy.ignore_others ? kDisabledXids : kEnabledXids);
  }

  void TranslateKind(Resource& resource) {
    const std::string host = "flags.nvidiaDriverRoot";
    const bool has_dev = !settings_.dev_root.empty();
    const std::string dev = has_dev ? "flags.nvidiaDevRoot" : host;
    const std::string inside = "flags.plugin.containerDriverRoot";
    const bool has_cdi = resource.rendering.cdi_kind == kCdiKind;
    const std::string root = has_cdi || !has_dev ? Directory(host, settings_.driver_root) : "";
    NvidiaConfig kind;
    kind.driver_root = Directory(inside, settings_.container_driver_root);
    kind.dev_root = has_dev ? Directory(dev, settings_.dev_root) : root;
    using Discovery = NvidiaConfig::Discovery;
    kind.discovery = settings_.discovery_strategy == "tegra"  ? Discovery::kTegra
                     : settings_.discovery_strategy == "nvml" ? Discovery::kNvml
                                                              : Discovery::kAuto;
    Note("resources[0].nvidia", "");
    Note("resources[0].nvidia.discovery", "flags.deviceDiscoveryStrategy");
    Note("resources[0].nvidia.driverRoot", inside);
    Note("resources[0].nvidia.devRoot", dev);
    if (!IsMixed()) {
      using InMigMode = NvidiaConfig::InMigMode;
      kind.in_mig_mode =
          settings_.mig_strategy == "single" ? InMigMode::kDevices : InMigMode::kWhole;
      Note("resources[0].nvidia.inMigMode", "flags.migStrategy");
    }
    if (has_cdi) {
      kind.host_driver_root = root;
      Note("resources[0].nvidia.hostDriverRoot", host);
      TranslateCdiDocument(kind);
    }
    TranslateExtras(kind);
    TranslateXids(kind);
    resource.kind = KindConfig::Of(std::move(kind));
  }

  // MPS excludes time-slicing wherever both are set, as in NVIDIA's plugin.
  void TranslateSharing() {
    if (settings_.mps) {
      if (settings_.time_slicing) {
        findings_.Warn(Reason::kConfigUnsupported, "sharing.timeSlicing",
                       "has no effect with sharing.mps, as in NVIDIA's plugin");
      }
      NvidiaConfig::Mps& mps = result_.config.resources[0].kind.As<NvidiaConfig>()->mps;
      mps.root = Directory("flags.mpsRoot", settings_.mps_root);
      mps.container_root = kMpsMount;
      Note("resources[0].nvidia.mps.hostRoot", "flags.mpsRoot");
      Note("resources[0].nvidia.mps.containerRoot", "");
      ShareBy(Division::kMps, *settings_.mps, "sharing.mps");
    } else if (settings_.time_slicing) {
      ShareBy(Division::kReplicas, *settings_.time_slicing, "sharing.timeSlicing");
    }
  }

  // NVIDIA's plugin makes the ids of both entries of a resource, so the larger number counts. The
  // later entry is emptied.
  std::vector<ReplicatedResource> Distinct(std::vector<ReplicatedResource> resources,
                                           const std::string& path) {
    std::map<std::string, size_t> first;
    for (size_t i = 0; i < resources.size(); ++i) {
      if (resources[i].name.empty()) continue;
      const auto [known, is_new] = first.emplace(resources[i].name, i);
      if (is_new) continue;
      findings_.Warn(Reason::kConfigDuplicate, fmt::format("{}.resources[{}].name", path, i),
                     fmt::format("{} is repeated: the larger number of replicas counts",
                                 Quoted(resources[i].name)));
      int64_t& replicas = resources[known->second].replicas;
      replicas = std::max(replicas, resources[i].replicas);
      resources[i] = {};
    }
    return resources;
  }

  void ShareBy(Division division, const Replication& replication, const std::string& path) {
    const int64_t most =
        division == Division::kMps ? tessera::nvidia::kMostMpsClients : kMostReplicas;
    const std::vector<ReplicatedResource> resources = Distinct(replication.resources, path);
    for (size_t i = 0; i < resources.size(); ++i) {
      const ReplicatedResource& shared = resources[i];
      const std::string at = fmt::format("{}.resources[{}]", path, i);
      if (shared.name.empty() || shared.replicas < 2) continue;  // reported when it was read
      const bool is_mig = IsMixed() && shared.name.starts_with(kMig);
      if (shared.name != kGpu && !is_mig) {
        findings_.Warn(
            Reason::kConfigUnsupported, at + ".name",
            fmt::format("{} is not a resource of this node and has no effect; there is {}",
                        Quoted(shared.name), Quoted(kGpu)));
      } else if (shared.replicas > most) {
        findings_.Report(Reason::kConfigBadValue, at + ".replicas",
                         fmt::format("is {}; at most {} are served", shared.replicas, most));
      } else if (is_mig && result_.config.resources.size() + 1 >= kMostResources) {
        findings_.Report(
            Reason::kConfigBadValue, at,
            fmt::format("is one resource too many: at most {} are served", kMostResources));
        return;
      } else if (is_mig) {
        const std::string suffix = shared.rename.empty() ? "" : ".shared";
        Share(AddFamily(shared.name.substr(kMig.size()), suffix),
              {division, static_cast<int>(shared.replicas)}, replication, path, at);
      } else {
        if (!shared.rename.empty()) {
          result_.config.resources[0].name = shared.rename;
          Note("resources[0].name", path + ".renameByDefault");
        }
        Share(result_.config.resources[0], {division, static_cast<int>(shared.replicas)},
              replication, path, at);
      }
    }
  }

  void Share(Resource& resource, const Policy& policy, const Replication& replication,
             const std::string& path, const std::string& from) {
    const auto index = &resource - result_.config.resources.data();
    resource.policy = policy;
    Note(fmt::format("resources[{}].policy", index), path);
    Note(fmt::format("resources[{}].replicas", index), from + ".replicas");
    // A second share of MPS gives no more: each client has one size.
    const bool usual = policy.division == Division::kMps;
    if (!replication.fail_requests_greater_than_one.value_or(usual)) return;
    resource.rendering.one_per_container = true;
    Note(fmt::format("resources[{}].onePerContainer", index), path + ".failRequestsGreaterThanOne");
  }

  const Settings& settings_;
  Findings& findings_;
  Translated result_;
};

}  // namespace

Translated Translate(const Settings& settings, Findings& findings) {
  return Translation(settings, findings).Take();
}

}  // namespace tessera::config::nvidia
