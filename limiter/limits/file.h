// SPDX-License-Identifier: Apache-2.0
// The limits file's text (contract.h). Pure: a buffer in, limits out.
#pragma once

#include "limiter/limits/limits.h"
#include "limiter/limits/text.h"

namespace tessera::limiter {

// False: the file is broken, and limits->reason says the line and what of it. Nothing else of a
// broken file counts.
bool ParseLimitsFile(Text text, Limits* limits);

}  // namespace tessera::limiter
