// SPDX-License-Identifier: Apache-2.0
// From the settings of NVIDIA's device plugin to Tessera's own configuration. Pure.
#pragma once

#include <map>
#include <string>

#include "compat/nvidia/settings.h"
#include "config/schema/config.h"
#include "config/schema/findings.h"

namespace tessera::config::nvidia {

struct Translated {
  Config config;
  // Which keys are set because of NVIDIA's settings, and where those were written.
  std::map<std::string, std::string> sources{};
  // What containers get is brought by CDI, where the node's container runtime has it.
  bool undecided = false;
};

// What the settings amount to. Settings without a counterpart are in CheckGaps; values that have
// none are reported here.
Translated Translate(const Settings& settings, Findings& findings);

}  // namespace tessera::config::nvidia
