// SPDX-License-Identifier: Apache-2.0
// The limits of this container and where they come from: the limits file; without one the
// environment; a process without those variables takes what the region says, which another one
// made: the one that the environment names, or the only one beside the library.
#pragma once

#include <cstddef>
#include <cstdint>

#include "limiter/contract.h"
#include "limiter/limits/mounts.h"

namespace tessera::limiter {

enum class Source : uint8_t { kNone, kFile, kEnvironment, kRegion };

struct DeviceLimit {
  char uuid[kUuidSize] = {};  // empty: a place that only the environment counts
  uint64_t bytes = 0;         // 0: no limit
  uint32_t cores = 0;         // percent; 0: no limit
};

// Plain data: zero is "no limits".
struct Limits {
  Source source = Source::kNone;
  bool broken = false;  // memory is denied, for what reason says
  bool oversubscribe = false;
  bool memory_by_driver = false;  // that refuses what is past the limit; here it is only shown
  bool core_policy_free = false;
  bool closed = false;  // who has no limits, or does not share the accounting, gets no memory
  CorePolicy core_policy = CorePolicy::kDefault;
  int32_t priority = 0;
  int32_t log_level = 0;  // 0: not a word, which is so unless the environment asks for some
  int32_t count = 0;
  DeviceLimit devices[kMaxDevices] = {};
  char region[256] = {};   // where it is; empty: nowhere
  char reason[160] = {};   // what is wrong with the limits, or with what decides: where, what
  char warning[160] = {};  // what else was not understood and therefore left out
};

// What decides for this process; found once, at first need. Any thread.
const Limits& TheLimits();

struct Environment;  // environment.h

// The same out of other places.
using Lookup = const char* (*)(const char* name);  // a variable's value or null
struct LimitPaths {
  const char* file = kLimitsPath;
  Lookup variable = nullptr;
  const char* directory = "";  // of the library, with its '/'; empty: nobody knows
  const char* no_limits = kNoLimitsPath;
  const char* loads = "/etc/ld.so.preload";  // what has the library loaded
  const char* mounts = kMountsPath;
  const char* region = kDefaultRegionPath;  // where no variable names one
  bool closed = false;                      // as the library was built
};
// `environment` is what there is room in for what the variables say.
void FindLimits(const LimitPaths& places, Environment* environment, Limits* limits);

}  // namespace tessera::limiter
