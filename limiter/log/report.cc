// SPDX-License-Identifier: Apache-2.0
#include "limiter/log/report.h"

#include <cstdio>
#include <cstring>

#include "limiter/log/log.h"

namespace tessera::limiter {
namespace {

const char* PolicyName(CorePolicy policy) {
  switch (policy) {
    case CorePolicy::kForce:
      return "force";
    case CorePolicy::kDisable:
      return "disable";
    case CorePolicy::kDefault:
      break;
  }
  return "default";
}

// A line number belongs to the limits file; any other reason names its own place.
void ReportBroken(const Limits& limits) {
  const bool is_line = std::strncmp(limits.reason, "line ", 5) == 0;
  LogLine(limits.log_level, Level::kError, "error: memory is denied: %s%s%s",
          is_line ? kLimitsPath : "", is_line ? ": " : "", limits.reason);
}

void ReportDevice(const Limits& limits, const char* name, const DeviceLimit& device) {
  char memory[48] = "all of its memory";
  char time[32] = "all of its time";
  if (device.bytes != 0) {
    std::snprintf(memory, sizeof memory, "%llu bytes of memory",
                  static_cast<unsigned long long>(device.bytes));
  }
  if (device.cores != 0) std::snprintf(time, sizeof time, "%u %% of its time", device.cores);
  LogLine(limits.log_level, Level::kWarning, "limit of %s: %s, %s", name, memory, time);
}

// Variables for all devices set the same limit for each.
bool IsSameForAll(const Limits& limits) {
  if (limits.count != kMaxDevices) return false;
  for (const DeviceLimit& device : limits.devices) {
    const DeviceLimit& first = limits.devices[0];
    if (device.uuid[0] != '\0') return false;
    if (device.bytes != first.bytes || device.cores != first.cores) return false;
  }
  return true;
}

void ReportDevices(const Limits& limits) {
  if (IsSameForAll(limits)) return ReportDevice(limits, "every device", limits.devices[0]);
  for (int i = 0; i < limits.count; ++i) {
    const DeviceLimit& device = limits.devices[i];
    char number[24];
    std::snprintf(number, sizeof number, "device %d", i);
    ReportDevice(limits, device.uuid[0] != '\0' ? device.uuid : number, device);
  }
}

void ReportFound(const Limits& limits) {
  const char* where = nullptr;
  switch (limits.source) {
    case Source::kFile:
      where = kLimitsPath;
      break;
    case Source::kEnvironment:
      where = "the environment";
      break;
    case Source::kRegion:
      where = limits.region;
      break;
    case Source::kNone:
      return LogLine(limits.log_level, Level::kWarning,
                     "no limits: neither %s nor variables nor a region set any", kLimitsPath);
  }
  const char* const more = limits.oversubscribe      ? ", oversubscribed"
                           : limits.memory_by_driver ? ", memory by the driver"
                                                     : "";
  LogLine(limits.log_level, Level::kWarning, "limits of %s: policy %s, priority %d%s", where,
          PolicyName(limits.core_policy), limits.priority, more);
  ReportDevices(limits);
}

void ReportTrouble(const Limits& limits, Trouble trouble) {
  const char* const path = limits.region;
  const char* const colon = path[0] != '\0' ? ": " : "";
  const bool is_limited = limits.source != Source::kNone;
  if (limits.closed || (is_limited && Denies(trouble, false))) {
    LogLine(limits.log_level, Level::kError, "error: memory is denied: %s%s%s", path, colon,
            Meaning(trouble));
  } else if (is_limited) {
    LogLine(limits.log_level, Level::kWarning, "warning: %s%s%s; limits hold for this process only",
            path, colon, Meaning(trouble));
  } else if (trouble != Trouble::kNoLimits) {
    LogLine(limits.log_level, Level::kWarning, "warning: %s%s%s", path, colon, Meaning(trouble));
  }
}

}  // namespace

void ReportLimits(const Limits& limits, Trouble trouble, int slot) {
  if (!IsSaid(limits.log_level, Level::kError)) return;
  if (limits.warning[0] != '\0') {
    LogLine(limits.log_level, Level::kWarning, "warning: left out: %s", limits.warning);
  }
  if (limits.broken) return ReportBroken(limits);
  if (limits.reason[0] != '\0') {
    LogLine(limits.log_level, Level::kError, "error: %s", limits.reason);
  }
  ReportFound(limits);
  if (trouble != Trouble::kNone) return ReportTrouble(limits, trouble);
  LogLine(limits.log_level, Level::kDebug, "shares %s, slot %d", limits.region, slot);
}

void ReportDenial(const Limits& limits, const char* uuid, uint64_t bytes, uint64_t used,
                  uint64_t limit) {
  if (!IsSaid(limits.log_level, Level::kDenial)) return;
  const char* const name = uuid[0] != '\0' ? uuid : "the device";
  const auto wanted = static_cast<unsigned long long>(bytes);
  if (limit <= 1) {
    return LogLine(limits.log_level, Level::kDenial, "denied: %llu bytes of %s", wanted, name);
  }
  LogLine(limits.log_level, Level::kDenial, "denied: %llu bytes of %s; %llu of %llu are held",
          wanted, name, static_cast<unsigned long long>(used),
          static_cast<unsigned long long>(limit));
}

void ReportManaged(const Limits& limits, const char* uuid, uint64_t bytes, uint64_t used,
                   uint64_t limit) {
  LogLine(limits.log_level, Level::kDenial,
          "managed: %llu bytes of %s, which has no room for them; %llu of %llu are held",
          static_cast<unsigned long long>(bytes), uuid, static_cast<unsigned long long>(used),
          static_cast<unsigned long long>(limit));
}

}  // namespace tessera::limiter
