// SPDX-License-Identifier: Apache-2.0
// The limits as a region says them, for a process that was started without the variables (a login
// shell): the process that made the region had them.
#pragma once

#include "limiter/limits/environment.h"

namespace tessera::limiter {

// Names the region that is beside the library: what ends in ".cache" in that directory (with its
// '/'), if that is one. False: there is none, or there are several, which is then said; nothing
// else changes.
bool FindRegion(const char* directory, Limits* limits);

// False: there is no such region, or it is none; then nothing changes.
bool ReadLimitsOfRegion(const char* path, const Environment& environment, Limits* limits);

}  // namespace tessera::limiter
