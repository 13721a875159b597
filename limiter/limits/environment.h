// SPDX-License-Identifier: Apache-2.0
// HAMi-core's variables for limits. A size is a number as C writes it (0x and leading 0 included),
// with at most one of k, m, g after it, binary. Anything else is an error that names the variable,
// never a guess.
#pragma once

#include "limiter/limits/limits.h"
#include "limiter/limits/text.h"

namespace tessera::limiter {

// The environment's settings; each may be set or not.
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

// Parses a size in bytes; empty and 0: none. Null: success; otherwise the error.
const char* ParseSize(Text text, uint64_t* bytes);

}  // namespace tessera::limiter
