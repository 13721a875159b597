// SPDX-License-Identifier: Apache-2.0
// The variables that set limits: lines of NAME=VALUE.

#include <string>

#include "limiter/limits/environment.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;
using tessera::limiter::CorePolicy;
using tessera::limiter::DeviceLimit;
using tessera::limiter::Environment;
using tessera::limiter::kMaxBytes;
using tessera::limiter::kMaxDevices;
using tessera::limiter::kUuidSize;
using tessera::limiter::Limits;
using tessera::limiter::ParseEnvironment;

namespace {
std::string lines;
std::string value;

const char* Find(const char* name) {
  const size_t at = lines.find(std::string("\n") + name + "=");
  if (at == std::string::npos) return nullptr;
  const size_t begin = lines.find('=', at) + 1;
  value = lines.substr(begin, lines.find('\n', begin) - begin);
  return value.c_str();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lines = "\n" + std::string(tessera::fuzz::Text(data, size)) + "\n";
  Environment environment;
  ParseEnvironment(Find, &environment);
  const Limits& limits = environment.limits;
  Require(limits.broken == (limits.reason[0] != '\0'), "what is broken has a reason");
  Require(limits.count >= 0 && limits.count <= kMaxDevices, "devices have their bound");
  Require(environment.has_limits == (limits.count > 0), "limits are some device's");
  Require(limits.region[0] == '/', "the region's path is absolute");
  Require(limits.core_policy <= CorePolicy::kDisable, "the policy is one of three");
  for (const DeviceLimit& device : limits.devices) {
    Require(device.bytes <= kMaxBytes && device.cores < 100, "limits have their bounds");
    Require(std::string(device.uuid).size() < kUuidSize, "names have an end");
  }
  return 0;
}
