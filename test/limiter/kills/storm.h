// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::limiter {

// Eight processes allocate, free and launch. In each round one of them is killed at random, the
// others finish their call, and a survivor makes a call. Returns in how many rounds its findings
// were not exact.
int RunStorm(int rounds);

}  // namespace tessera::limiter
