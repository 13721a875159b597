// SPDX-License-Identifier: Apache-2.0
// The limits as a region says them, for a process that was started without the variables (a login
// shell): the process that made the region had them.
#pragma once

#include "limiter/limits/environment.h"

namespace tessera::limiter {

// False: there is no such region, or it is none; then nothing changes.
bool ReadLimitsOfRegion(const char* path, const Environment& environment, Limits* limits);

}  // namespace tessera::limiter
