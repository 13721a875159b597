// SPDX-License-Identifier: Apache-2.0
#include "config/nvidia/gaps.h"

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

}  // namespace

void CheckGaps(const Settings& settings, Findings& findings) {
  for (const Gap& gap : kErrors) {
    if (findings.IsBad(gap.path) || !gap.wanted(settings)) continue;
    findings.Report(Reason::kConfigUnsupported, gap.path, gap.told);
  }
}

}  // namespace tessera::config::nvidia
