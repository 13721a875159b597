// SPDX-License-Identifier: Apache-2.0
#include "compat/nvidia/rules.h"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "config/schema/scalar.h"

namespace tessera::config::nvidia {
namespace {

void CheckOneOf(const std::string& path, const std::string& value,
                const std::vector<std::string>& values, Findings& findings) {
  if (findings.IsBad(path)) return;
  const Parsed<std::string> known = ReadOneOf(value, values);
  if (known) return;
  findings.Report(known.error().reason, path, known.error().message, known.error().suggestion);
}

void CheckMps(const Settings& settings, Findings& findings) {
  if (!settings.mps) return;
  if (settings.mig_strategy == "mixed") {
    findings.Report(Reason::kConfigBadValue, "sharing.mps",
                    "cannot be combined with flags.migStrategy 'mixed': remove one of them");
  }
  if (settings.mps_root.empty()) {
    findings.Report(Reason::kConfigMissing, "sharing.mps",
                    "needs flags.mpsRoot, the directory of MPS");
  }
}

// The default new name of shared devices.
std::string SharedName(const ReplicatedResource& resource) {
  return resource.name + ".shared";
}

void SwitchOffIn(const std::string& path, Replication& replication, Findings& findings) {
  for (size_t i = 0; i < replication.resources.size(); ++i) {
    ReplicatedResource& resource = replication.resources[i];
    const std::string at = fmt::format("{}.resources[{}]", path, i);
    const std::string rename = replication.rename_by_default ? SharedName(resource) : "";
    if (!resource.rename.empty() && resource.rename != rename) {
      findings.Warn(Reason::kConfigUnsupported, at + ".rename",
                    fmt::format("has no effect, as in NVIDIA's plugin: the resource is {}",
                                Quoted(rename.empty() ? resource.name : rename)));
    }
    resource.rename = rename;
    if (resource.devices == ReplicatedDevices()) continue;
    findings.Warn(Reason::kConfigUnsupported, at + ".devices",
                  "has no effect, as in NVIDIA's plugin: all devices are replicated");
    resource.devices = ReplicatedDevices();
  }
}

}  // namespace

void Validate(const Settings& settings, Findings& findings) {
  const std::string strategies = "flags.plugin.deviceListStrategy";
  for (const std::string& strategy : settings.list_strategies) {
    CheckOneOf(strategies, strategy, {"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"},
               findings);
  }
  CheckOneOf("flags.plugin.deviceIDStrategy", settings.id_strategy, {"uuid", "index"}, findings);
  CheckOneOf("flags.plugin.sharedDevicesAllocationPolicy", settings.allocation_policy,
             {"distributed", "packed"}, findings);
  CheckMps(settings, findings);
  CheckOneOf("flags.deviceDiscoveryStrategy", settings.discovery_strategy,
             {"auto", "nvml", "tegra", "vfio"}, findings);
  CheckOneOf("flags.migStrategy", settings.mig_strategy, {"none", "single", "mixed"}, findings);
  const bool known =
      settings.imex_channels.empty() || settings.imex_channels == std::vector<int64_t>{0};
  if (!known && !findings.IsBad("imex.channelIDs")) {
    findings.Report(Reason::kConfigBadValue, "imex.channelIDs",
                    "takes [] or [0]: no other IMEX channel can be granted");
  }
}

void SwitchOff(Settings& settings, Findings& findings) {
  constexpr std::string_view kNoNames =
      "has no effect, as in NVIDIA's plugin: whole GPUs are 'nvidia.com/gpu' whatever their model";
  if (!settings.gpus.empty()) findings.Warn(Reason::kConfigUnsupported, "resources.gpus", kNoNames);
  if (!settings.migs.empty()) {
    findings.Warn(Reason::kConfigUnsupported, "resources.mig",
                  "has no effect, as in NVIDIA's plugin: MIG devices are named by their profile");
  }
  settings.gpus.clear();
  settings.migs.clear();
  if (settings.time_slicing) SwitchOffIn("sharing.timeSlicing", *settings.time_slicing, findings);
  if (settings.mps) SwitchOffIn("sharing.mps", *settings.mps, findings);
}

}  // namespace tessera::config::nvidia
