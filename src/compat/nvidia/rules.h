// SPDX-License-Identifier: Apache-2.0
// The rules that NVIDIA's device plugin applies to its settings. Pure.
#pragma once

#include "compat/nvidia/settings.h"
#include "config/schema/findings.h"

namespace tessera::config::nvidia {

// Reports every value that the plugin would refuse to start with.
void Validate(const Settings& settings, Findings& findings);

// Removes settings that the plugin reads and then disables, with a warning each. These are names
// for models and profiles, own new names, and the choice of devices to replicate.
void SwitchOff(Settings& settings, Findings& findings);

}  // namespace tessera::config::nvidia
