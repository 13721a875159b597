// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's device plugin makes of its settings once they are read. Pure.
#pragma once

#include "compat/nvidia/settings.h"
#include "config/schema/findings.h"

namespace tessera::config::nvidia {

// Reports every value that the plugin would refuse to start with.
void Validate(const Settings& settings, Findings& findings);

// Takes out, with a warning each, what the plugin reads and then switches off: names for models and
// profiles, new names of one's own, and the choice of devices to replicate.
void SwitchOff(Settings& settings, Findings& findings);

}  // namespace tessera::config::nvidia
