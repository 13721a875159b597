// SPDX-License-Identifier: Apache-2.0
// The limits file of a container.

#include <cstring>

#include "limiter/limits/file.h"
#include "test/fuzz/fuzz.h"

using tessera::fuzz::Require;
using tessera::limiter::CorePolicy;
using tessera::limiter::DeviceLimit;
using tessera::limiter::kMaxBytes;
using tessera::limiter::kMaxDevices;
using tessera::limiter::Limits;
using tessera::limiter::ParseLimitsFile;
using tessera::limiter::Source;
using tessera::limiter::Text;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Limits limits;
  const bool whole = ParseLimitsFile(Text(reinterpret_cast<const char*>(data), size), &limits);
  Require(limits.source == Source::kFile, "where it is from is known");
  Require(whole == !limits.broken, "what is not whole is broken");
  if (!whole) {
    Require(std::strncmp(limits.reason, "line ", 5) == 0, "a refusal names the line");
    Require(limits.count == 0 && limits.region[0] == '\0', "nothing of a broken file counts");
    return 0;
  }
  Require(limits.count > 0 && limits.count <= kMaxDevices, "a file names a device");
  Require(limits.core_policy <= CorePolicy::kDisable, "the policy is one of three");
  for (int i = 0; i < limits.count; ++i) {
    const DeviceLimit& device = limits.devices[i];
    Require(device.bytes <= kMaxBytes && device.cores <= 100, "limits have their bounds");
    Require(std::strlen(device.uuid) > 4, "a device has a name");
  }
  return 0;
}
