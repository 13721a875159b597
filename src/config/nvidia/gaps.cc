// SPDX-License-Identifier: Apache-2.0
#include "config/nvidia/gaps.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::config::nvidia {
namespace {

struct Gap {
  const char* path;
  bool (*wanted)(const Settings& settings);
  const char* told;  // behind the path: what is missing, and what to do
};

constexpr Gap kErrors[] = {
    {"kubelet-socket", [](const Settings& s) { return s.kubelet_socket.empty(); },
     "is empty, which is to register nowhere: the agent always registers; leave it out"},
};

bool NamesCdiDevices(const Settings& s) {
  return std::ranges::any_of(s.list_strategies,
                             [](const std::string& name) { return name.starts_with("cdi-"); });
}

bool HasItems(const std::vector<std::string>& list) {
  return list != std::vector<std::string>() && list != std::vector<std::string>{""};
}

constexpr char kOfTheDocument[] =
    "has no effect: it is about the CDI document, which another program has to write; say it to "
    "that one";

// Without CDI devices they are of no effect in the plugin either.
constexpr Gap kWarnings[] = {
    {"flags.plugin.nvidiaCTKPath",
     [](const Settings& s) {
       return NamesCdiDevices(s) && s.cdi_hook_path != Settings().cdi_hook_path;
     },
     kOfTheDocument},
    {"cdi-feature-flags",
     [](const Settings& s) { return NamesCdiDevices(s) && HasItems(s.cdi_feature_flags); },
     kOfTheDocument},
    {"cdi-disable-hooks",
     [](const Settings& s) { return NamesCdiDevices(s) && HasItems(s.cdi_disable_hooks); },
     kOfTheDocument},
};

}  // namespace

void CheckGaps(const Settings& settings, Findings& findings) {
  for (const Gap& gap : kErrors) {
    if (findings.IsBad(gap.path) || !gap.wanted(settings)) continue;
    findings.Report(Reason::kConfigUnsupported, gap.path, gap.told);
  }
  for (const Gap& gap : kWarnings) {
    if (gap.wanted(settings)) findings.Warn(Reason::kConfigUnsupported, gap.path, gap.told);
  }
}

}  // namespace tessera::config::nvidia
