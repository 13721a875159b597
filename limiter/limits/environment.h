// SPDX-License-Identifier: Apache-2.0
// The variables of HAMi-core that set limits. Sizes are numbers as C writes them (0x and leading 0
// included) with one of k, m, g behind them at most, binary; anything else is an error with a name,
// never a guess.
#pragma once

#include "limiter/limits/limits.h"
#include "limiter/limits/text.h"

namespace tessera::limiter {

// What the environment says; each of it may be said or not.
struct Environment {
  Limits limits;  // broken: a memory limit is not understood
  bool has_limits = false;
  bool has_policy = false;
  bool has_priority = false;
  bool has_region = false;
  bool has_log_level = false;
};

void ParseEnvironment(Lookup variable, Environment* environment,
                      const char* region = kDefaultRegionPath);

// A size in bytes, empty and 0: none. Null: understood; otherwise what is wrong with it.
const char* ParseSize(Text text, uint64_t* bytes);

}  // namespace tessera::limiter
