// SPDX-License-Identifier: Apache-2.0
// The limits of this container. The first source that exists decides: the limits file, then the
// environment, then the region of another process. That region is the one that the environment
// names, or the only one in the library's directory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "limiter/contract.h"
#include "limiter/limits/mounts.h"

namespace tessera::limiter {

enum class Source : uint8_t { kNone, kFile, kEnvironment, kRegion };

struct DeviceLimit {
  char uuid[kUuidSize] = {};  // empty: a place that the environment only counts
  uint64_t bytes = 0;         // 0: no limit
  uint32_t cores = 0;         // percent; 0: no limit
};

// Plain data; all zeros means no limits.
struct Limits {
  Source source = Source::kNone;
  bool broken = false;  // memory is denied; see reason
  bool oversubscribe = false;
  bool memory_by_driver = false;  // the driver refuses; the library only displays
  bool core_policy_free = false;
  bool closed = false;  // without limits or shared accounting, no memory
  CorePolicy core_policy = CorePolicy::kDefault;
  int32_t priority = 0;
  int32_t log_level = 0;  // 0: silent, the default
  int32_t count = 0;
  DeviceLimit devices[kMaxDevices] = {};
  char region[256] = {};   // its path; empty: none
  char reason[160] = {};   // the error in the limits or the policy: where, what
  char warning[160] = {};  // other errors, whose settings are ignored
};

// This process's limits; found once, at first need. Any thread.
const Limits& TheLimits();

struct Environment;  // environment.h

// The sources of limits; tests have their own.
using Lookup = const char* (*)(const char* name);  // a variable's value or null
struct LimitPaths {
  const char* file = kLimitsPath;
  Lookup variable = nullptr;
  const char* directory = "";  // of the library, with its '/'; empty: not known
  const char* no_limits = kNoLimitsPath;
  const char* loads = "/etc/ld.so.preload";  // the file that loads the library
  const char* mounts = kMountsPath;
  const char* region = kDefaultRegionPath;  // if no variable names one
  bool closed = false;                      // the library's build
};
// `environment`: room for the variables' settings.
void FindLimits(const LimitPaths& places, Environment* environment, Limits* limits);

}  // namespace tessera::limiter
