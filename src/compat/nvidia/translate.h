// SPDX-License-Identifier: Apache-2.0
// Translates settings of NVIDIA's device plugin into Tessera's configuration. Pure.
#pragma once

#include <map>
#include <string>

#include "compat/nvidia/settings.h"
#include "config/schema/config.h"
#include "config/schema/findings.h"

namespace tessera::config::nvidia {

struct Translated {
  Config config;
  // The source of each key that NVIDIA's settings set.
  std::map<std::string, std::string> sources{};
  // CDI brings containers their devices, if the node's container runtime supports it.
  bool undecided = false;
};

// The settings as our configuration. CheckGaps reports settings without a counterpart, this
// function values without one.
Translated Translate(const Settings& settings, Findings& findings);

}  // namespace tessera::config::nvidia
