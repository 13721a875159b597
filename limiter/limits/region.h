// SPDX-License-Identifier: Apache-2.0
// Limits from a region, for a process that was started without the variables, such as a login
// shell. The maker of the region had them.
#pragma once

#include "limiter/limits/environment.h"

namespace tessera::limiter {

// Finds the only "*.cache" in the library's directory (with its '/'), and names it in
// limits->region. False: there is none, or there are several, which is reported. No other field
// changes.
bool FindRegion(const char* directory, Limits* limits);

// False: there is no valid region; no field changes.
bool ReadLimitsOfRegion(const char* path, const Environment& environment, Limits* limits);

}  // namespace tessera::limiter
