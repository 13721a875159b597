// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::limiter {

// Eight processes allocate, free and launch. Each round one of them is killed wherever it is, the
// others come to the end of what they do, and a survivor makes a call. How often what it found was
// not exact.
int RunStorm(int rounds);

}  // namespace tessera::limiter
