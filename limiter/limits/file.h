// SPDX-License-Identifier: Apache-2.0
// Parses the limits file's text (contract.h). Pure: a buffer in, limits out.
#pragma once

#include "limiter/limits/limits.h"
#include "limiter/limits/text.h"

namespace tessera::limiter {

// False: the file is broken, and limits->reason has the line and the error. No other part of a
// broken file counts.
bool ParseLimitsFile(Text text, Limits* limits);

}  // namespace tessera::limiter
