// SPDX-License-Identifier: Apache-2.0
#include "config/nvidia/gaps.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace tessera::config::nvidia {
namespace {

struct Gap {
  const char* path;
  bool (*wanted)(const Settings& settings);
  const char* told;  // behind the path: what is missing, and what to do
};

bool Lists(const Settings& settings, std::string_view strategy) {
  return std::ranges::count(settings.list_strategies, strategy) > 0;
}

constexpr Gap kErrors[] = {
    {"flags.plugin.deviceListStrategy",
     [](const Settings& s) { return Lists(s, "cdi-annotations") || Lists(s, "cdi-cri"); },
     "names CDI, for which no document with the driver's files is written yet: use 'envvar'"},
    {"flags.plugin.deviceIDStrategy", [](const Settings& s) { return s.id_strategy == "index"; },
     "'index' is not served yet: use 'uuid', which containers take as well"},
    {"flags.gdrcopyEnabled", [](const Settings& s) { return s.gdrcopy; },
     "is not served yet: containers would have no GDRCopy; set it to false"},
    {"flags.gdsEnabled", [](const Settings& s) { return s.gds; },
     "is not served yet: containers would have no GPUDirect Storage; set it to false"},
    {"flags.mofedEnabled", [](const Settings& s) { return s.mofed; },
     "is not served yet: containers would have no Mellanox OFED; set it to false"},
    {"sharing.mps", [](const Settings& s) { return s.mps.has_value(); },
     "is not served yet: use sharing.timeSlicing, which sets no limits, or leave it out"},
    {"sharing.timeSlicing.failRequestsGreaterThanOne",
     [](const Settings& s) {
       return s.time_slicing && s.time_slicing->fail_requests_greater_than_one.value_or(false);
     },
     "is not served yet: a container that asks for more than one share would get them; set it to "
     "false"},
    {"imex.channelIDs", [](const Settings& s) { return !s.imex_channels.empty(); },
     "is not served yet: containers would have no IMEX channel; leave it out"},
    {"kubelet-socket", [](const Settings& s) { return s.kubelet_socket.empty(); },
     "is empty, which is to register nowhere: the agent always registers; leave it out"},
};

constexpr std::string_view kHealthVariables[] = {"DP_DISABLE_HEALTHCHECKS",
                                                 "DP_ENABLE_HEALTHCHECKS"};

}  // namespace

void CheckGaps(const Settings& settings, const std::map<std::string, std::string>& environment,
               Findings& findings) {
  for (const Gap& gap : kErrors) {
    if (findings.IsBad(gap.path) || !gap.wanted(settings)) continue;
    findings.Report(Reason::kConfigUnsupported, gap.path, gap.told);
  }
  // Only where somebody wrote it: it is the plugin's default.
  if (findings.IsSet("flags.failOnInitError") && settings.fail_on_init_error) {
    findings.Warn(Reason::kConfigUnsupported, "flags.failOnInitError",
                  "has no effect: without a driver the agent goes on, says so on /readyz, and "
                  "serves as soon as there is one");
  }
  for (const std::string_view name : kHealthVariables) {
    if (!environment.contains(std::string(name))) continue;
    findings.AddWarning({.reason = Reason::kConfigUnsupported,
                         .origin = fmt::format("environment {}", name),
                         .text = std::string(name),
                         .message = "has no effect yet: XIDs count as docs/nvidia.md says, or as "
                                    "'nvidia: {xids: ...}' of a file of Tessera's does"});
  }
}

}  // namespace tessera::config::nvidia
