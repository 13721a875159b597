// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "compat/nvidia/scalars.h"
#include "config/load.h"

namespace tessera::config::nvidia {
namespace {

std::vector<std::string> Items(std::span<const std::string> texts) {
  std::vector<std::string> items;
  for (const std::string& text : texts) {
    for (const std::string& item : Split(text, ',')) items.emplace_back(Trim(item));
  }
  return items;
}

Misfit WrongType(std::string_view wanted, const std::string& text) {
  return {.reason = Reason::kConfigWrongType,
          .message = fmt::format("takes {}, not {}", wanted, Quoted(text))};
}

// Stores texts in a member; one overload for each type.
struct Store {
  std::span<const std::string> texts;
  Settings& settings;

  std::optional<Misfit> operator()(std::string Settings::* member) const {
    settings.*member = texts.back();
    return {};
  }
  std::optional<Misfit> operator()(bool Settings::* member) const {
    const std::optional<bool> value = SwitchValue(texts.back());
    if (!value) return WrongType("true or false", texts.back());
    settings.*member = *value;
    return {};
  }
  std::optional<Misfit> operator()(std::vector<std::string> Settings::* member) const {
    settings.*member = Items(texts);
    return {};
  }
  std::optional<Misfit> operator()(std::vector<int64_t> Settings::* member) const {
    std::vector<int64_t> numbers;
    for (const std::string& item : Items(texts)) {
      const std::optional<int64_t> number = WholeNumber(item);
      if (!number) return WrongType("whole numbers, separated by commas", item);
      numbers.push_back(*number);
    }
    settings.*member = std::move(numbers);
    return {};
  }
  std::optional<Misfit> operator()(Duration Settings::* member) const {
    const std::optional<Duration> interval = SleepInterval(texts.back());
    if (!interval) return WrongType(kInterval, texts.back());
    settings.*member = *interval;
    return {};
  }
};

struct Show {
  const Settings settings;  // has the defaults

  std::string operator()(std::string Settings::* member) const { return settings.*member; }
  std::string operator()(bool Settings::* member) const {
    return settings.*member ? "true" : "false";
  }
  std::string operator()(std::vector<std::string> Settings::* member) const {
    return Join(settings.*member, ",");
  }
  std::string operator()(std::vector<int64_t> Settings::*) const { return ""; }
  std::string operator()(Duration Settings::* member) const {
    return FormatDuration(settings.*member);
  }
};

std::vector<Option> DriverOptions() {
  return {
      {{"mig-strategy"},
       {"GFD_MIG_STRATEGY", "MIG_STRATEGY"},
       "flags.migStrategy",
       &Settings::mig_strategy,
       "how MIG devices are offered: none, single or mixed"},
      {{"fail-on-init-error"},
       {"GFD_FAIL_ON_INIT_ERROR", "FAIL_ON_INIT_ERROR"},
       "flags.failOnInitError",
       &Settings::fail_on_init_error,
       "end when there is no driver",
       "go on and look for it again"},
      {{"driver-root", "nvidia-driver-root"},
       {"NVIDIA_DRIVER_ROOT"},
       "flags.nvidiaDriverRoot",
       &Settings::driver_root,
       "where the driver is installed, on the host"},
      {{"dev-root", "nvidia-dev-root"},
       {"NVIDIA_DEV_ROOT"},
       "flags.nvidiaDevRoot",
       &Settings::dev_root,
       "the host's directory with /dev below it; without it, the driver's root"},
      {{"gdrcopy-enabled"},
       {"GDRCOPY_ENABLED"},
       "flags.gdrcopyEnabled",
       &Settings::gdrcopy,
       "give containers GDRCopy"},
      {{"gds-enabled"},
       {"GDS_ENABLED"},
       "flags.gdsEnabled",
       &Settings::gds,
       "give containers GPUDirect Storage"},
      {{"mofed-enabled"},
       {"MOFED_ENABLED"},
       "flags.mofedEnabled",
       &Settings::mofed,
       "give containers Mellanox OFED"},
      {{"mps-root"}, {"MPS_ROOT"}, "flags.mpsRoot", &Settings::mps_root, "the directory of MPS"},
      {{"device-discovery-strategy"},
       {"DEVICE_DISCOVERY_STRATEGY"},
       "flags.deviceDiscoveryStrategy",
       &Settings::discovery_strategy,
       "how GPUs are found: auto, nvml or tegra; vfio is for labels only"},
  };
}

std::vector<Option> PluginOptions() {
  return {
      {{"pass-device-specs"},
       {"PASS_DEVICE_SPECS"},
       "flags.plugin.passDeviceSpecs",
       &Settings::pass_device_specs,
       "hand the device nodes to the runtime as well"},
      {{"device-list-strategy"},
       {"DEVICE_LIST_STRATEGY"},
       "flags.plugin.deviceListStrategy",
       &Settings::list_strategies,
       "how containers learn of their GPUs: envvar, volume-mounts, cdi-annotations, cdi-cri"},
      {{"device-id-strategy"},
       {"DEVICE_ID_STRATEGY"},
       "flags.plugin.deviceIDStrategy",
       &Settings::id_strategy,
       "what GPUs are called there: uuid or index"},
      {{"cdi-annotation-prefix"},
       {"CDI_ANNOTATION_PREFIX"},
       "flags.plugin.cdiAnnotationPrefix",
       &Settings::cdi_annotation_prefix,
       "the beginning of the keys of CDI's annotations"},
      {{"nvidia-cdi-hook-path", "nvidia-ctk-path"},
       {"NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"},
       "flags.plugin.nvidiaCTKPath",
       &Settings::cdi_hook_path,
       "the hook in CDI documents, on the host"},
      {{"driver-root-ctr-path", "container-driver-root"},
       {"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"},
       "flags.plugin.containerDriverRoot",
       &Settings::container_driver_root,
       "where the driver is installed, as the agent sees it"},
      {{"shared-devices-allocation-policy"},
       {"SHARED_DEVICES_ALLOCATION_POLICY"},
       "flags.plugin.sharedDevicesAllocationPolicy",
       &Settings::allocation_policy,
       "where shares go: distributed or packed"},
      {{"cdi-feature-flags"},
       {"CDI_FEATURE_FLAGS"},
       "",
       &Settings::cdi_feature_flags,
       "feature flags of the CDI document"},
      {{"cdi-disable-hooks"},
       {"CDI_DISABLE_HOOKS"},
       "",
       &Settings::cdi_disable_hooks,
       "hooks to leave out of the CDI document"},
  };
}

std::vector<Option> OtherOptions() {
  return {
      {{"imex-channel-ids"},
       {"IMEX_CHANNEL_IDS"},
       "imex.channelIDs",
       &Settings::imex_channels,
       "the IMEX channels to give to containers: none or 0"},
      {{"imex-required"},
       {"IMEX_REQUIRED"},
       "imex.required",
       &Settings::imex_required,
       "whether the IMEX channels must be there"},
      {{"kubelet-socket"},
       {"KUBELET_SOCKET"},
       "",
       &Settings::kubelet_socket,
       "kubelet's socket for device plugins",
       "found among the usual places"},
      {{"config-file"},
       {"GFD_CONFIG_FILE", "CONFIG_FILE"},
       "",
       &Settings::config_file,
       "a configuration file of NVIDIA's device plugin"},
  };
}

// Options of GPU feature discovery.
std::vector<Option> DiscoveryOptions() {
  return {
      {{"oneshot"},
       {"GFD_ONESHOT"},
       "flags.gfd.oneshot",
       &Settings::gfd_oneshot,
       "no effect: 'tessera labels' labels once, the agent continues"},
      {{"no-timestamp"},
       {"GFD_NO_TIMESTAMP"},
       "flags.gfd.noTimestamp",
       &Settings::gfd_no_timestamp,
       "leave out the label with the time of the configuration"},
      {{"sleep-interval"},
       {"GFD_SLEEP_INTERVAL"},
       "flags.gfd.sleepInterval",
       &Settings::gfd_sleep_interval,
       "how often labels are updated"},
      {{"output-file", "output", "o"},
       {"GFD_OUTPUT_FILE"},
       "flags.gfd.outputFile",
       &Settings::gfd_output_file,
       "the feature file with the labels",
       "features.d/gfd, where node feature discovery looks"},
      {{"machine-type-file"},
       {"GFD_MACHINE_TYPE_FILE"},
       "flags.gfd.machineTypeFile",
       &Settings::gfd_machine_type_file,
       "the file that names the machine type of the node"},
      {{"use-node-feature-api"},
       {"GFD_USE_NODE_FEATURE_API", "USE_NODE_FEATURE_API"},
       "flags.useNodeFeatureAPI",
       &Settings::use_node_feature_api,
       "no effect: labels go into a feature file or to the node"},
      {{"kubeconfig"}, {}, "", &Settings::kubeconfig, "the kubeconfig for the API server"},
      {{"kube-api-qps"}, {}, "", &Settings::passed_over, "no effect"},
      {{"kube-api-burst"}, {}, "", &Settings::passed_over, "no effect"},
      {{"namespace"}, {}, "", &Settings::passed_over, "no effect: for NodeFeature objects"},
      {{"pod-name"}, {}, "", &Settings::passed_over, "no effect: for NodeFeature objects"},
  };
}

}  // namespace

const std::vector<Option>& Options() {
  static const std::vector<Option> options = [] {
    std::vector<Option> all = DriverOptions();
    for (Option& option : PluginOptions()) all.push_back(std::move(option));
    for (Option& option : OtherOptions()) all.push_back(std::move(option));
    for (Option& option : DiscoveryOptions()) all.push_back(std::move(option));
    return all;
  }();
  return options;
}

const Option* OptionOfFlag(std::string_view name) {
  for (const Option& option : Options()) {
    if (std::ranges::count(option.flags, name) > 0) return &option;
  }
  return nullptr;
}

std::string DefaultText(const Option& option) {
  return std::visit(Show{}, option.member);
}

std::optional<Misfit> SetTexts(const Option& option, std::span<const std::string> texts,
                               Settings& settings) {
  return std::visit(Store{texts, settings}, option.member);
}

void ApplyEnvironment(const std::map<std::string, std::string>& environment, Settings& settings,
                      Findings& findings) {
  for (const Option& option : Options()) {
    for (const std::string& name : option.variables) {
      const auto found = environment.find(name);
      if (found == environment.end()) continue;
      std::string text = found->second;
      // From an empty variable the plugin makes an empty text, false, a list with one empty item,
      // or no value.
      if (text.empty() && option.IsSwitch()) text = "false";
      if (text.empty() && std::holds_alternative<std::vector<int64_t> Settings::*>(option.member)) {
        break;
      }
      const std::optional<Misfit> misfit = SetTexts(option, {&text, 1}, settings);
      findings.SetOutside(option.Path(), "environment " + name, text, !misfit);
      if (misfit) findings.Report(misfit->reason, option.Path(), misfit->message);
      break;
    }
  }
  for (const auto& [name, text] : environment) {
    const bool disables = name == kDisabledXids;
    if (!disables && name != kEnabledXids) continue;
    (disables ? settings.disabled_xids : settings.enabled_xids) = text;
    findings.SetOutside(name, "environment " + name, text, true);
  }
}

std::map<std::string, std::string> OwnEnvironment() {
  return EnvironmentOf([](std::string_view name) {
    return name == kDisabledXids || name == kEnabledXids ||
           std::ranges::any_of(Options(), [&](const Option& option) {
             return std::ranges::count(option.variables, name) > 0;
           });
  });
}

}  // namespace tessera::config::nvidia
