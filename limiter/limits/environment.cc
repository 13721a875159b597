// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/environment.h"

#include <cstdio>

namespace tessera::limiter {
namespace {

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

int ShiftOf(char c) {
  if (c == 'k' || c == 'K') return 10;
  if (c == 'm' || c == 'M') return 20;
  if (c == 'g' || c == 'G') return 30;
  return 0;
}

void Warn(Limits* limits, const char* name, const char* what, const char* value) {
  if (limits->warning[0] != '\0') return;  // the first one is enough to look
  Explain(limits->warning, sizeof(limits->warning), name, what, Text(value));
}

// The value of a limit variable for device N; -1: for all devices without one of their own.
const char* Find(Lookup variable, const char* base, int device, char* name, size_t size) {
  if (device < 0) {
    std::snprintf(name, size, "%s", base);
  } else {
    std::snprintf(name, size, "%s_%d", base, device);
  }
  return variable(name);
}

// 1: set; 0: not set; -1: set to an error.
int ReadMemory(Lookup variable, int device, uint64_t* bytes, Limits* limits) {
  char name[40];
  const char* const value = Find(variable, "CUDA_DEVICE_MEMORY_LIMIT", device, name, sizeof(name));
  if (value == nullptr || *value == '\0') return 0;
  const char* const trouble = ParseSize(Text(value), bytes);
  if (trouble == nullptr) return 1;
  if (!limits->broken) Explain(limits->reason, sizeof(limits->reason), name, trouble, Text(value));
  limits->broken = true;
  return -1;
}

bool ReadCores(Lookup variable, int device, uint32_t* cores, Limits* limits) {
  char name[40];
  const char* const value = Find(variable, "CUDA_DEVICE_SM_LIMIT", device, name, sizeof(name));
  if (value == nullptr || *value == '\0') return false;
  uint64_t percent = 0;
  if (!ParseDecimal(Text(value), UINT32_MAX, &percent)) {
    Warn(limits, name, "takes a percentage, not", value);
    return false;
  }
  *cores = percent >= 100 ? 0 : static_cast<uint32_t>(percent);
  return true;
}

void ReadLimits(Lookup variable, Environment* environment) {
  Limits& limits = environment->limits;
  uint64_t all_bytes = 0;
  uint32_t all_cores = 0;
  const int all = ReadMemory(variable, -1, &all_bytes, &limits);
  const bool cores_of_all = ReadCores(variable, -1, &all_cores, &limits);
  if (all != 0 || cores_of_all) {
    environment->has_limits = true;
    limits.count = kMaxDevices;
  }
  for (int i = 0; i < kMaxDevices; ++i) {
    DeviceLimit& device = limits.devices[i];
    device.bytes = all_bytes;
    device.cores = all_cores;
    const int memory = ReadMemory(variable, i, &device.bytes, &limits);
    const bool cores = ReadCores(variable, i, &device.cores, &limits);
    if (memory == 0 && !cores) continue;
    environment->has_limits = true;
    if (limits.count <= i) limits.count = i + 1;
  }
}

void ReadPolicies(Lookup variable, Environment* environment) {
  Limits& limits = environment->limits;
  const char* value = variable("GPU_CORE_UTILIZATION_POLICY");
  if (value != nullptr && *value != '\0') {
    const Text text(value);
    environment->has_policy = true;
    if (text == "force" || text == "FORCE") {
      limits.core_policy = CorePolicy::kForce;
    } else if (text == "disable" || text == "DISABLE") {
      limits.core_policy = CorePolicy::kDisable;
    } else if (!(text == "default" || text == "DEFAULT")) {
      environment->has_policy = false;
      Warn(&limits, "GPU_CORE_UTILIZATION_POLICY", "takes default, force or disable, not", value);
    }
  }
  value = variable("CUDA_TASK_PRIORITY");
  uint64_t number = 0;
  if (value != nullptr && *value != '\0') {
    environment->has_priority = ParseDecimal(Text(value), INT32_MAX, &number);
    if (environment->has_priority) {
      limits.priority = static_cast<int32_t>(number);
    } else {
      Warn(&limits, "CUDA_TASK_PRIORITY", "takes a number from 0, not", value);
    }
  }
  value = variable("CUDA_OVERSUBSCRIBE");
  limits.oversubscribe = value != nullptr && (Text(value) == "true" || Text(value) == "1");
}

void ReadPlaces(Lookup variable, Environment* environment) {
  Limits& limits = environment->limits;
  const char* value = variable("CUDA_DEVICE_MEMORY_SHARED_CACHE");
  if (value != nullptr && *value != '\0') {
    environment->has_region = *value == '/' && std::strlen(value) < sizeof(limits.region);
    if (environment->has_region) {
      Copy(Text(value), limits.region, sizeof(limits.region));
    } else {
      Warn(&limits, "CUDA_DEVICE_MEMORY_SHARED_CACHE", "takes an absolute path, not", value);
    }
  }
  value = variable("LIBCUDA_LOG_LEVEL");
  uint64_t number = 0;
  if (value == nullptr || *value == '\0') return;
  environment->has_log_level = ParseDecimal(Text(value), 9, &number);
  if (environment->has_log_level) {
    limits.log_level = static_cast<int32_t>(number);
  } else {
    Warn(&limits, "LIBCUDA_LOG_LEVEL", "takes a number from 0 to 4, not", value);
  }
}

// If the container's devices are named one by one, device N of the variables is the Nth of them.
void ReadUuids(Lookup variable, Limits* limits) {
  const char* const value = variable("NVIDIA_VISIBLE_DEVICES");
  if (value == nullptr) return;
  Text rest(value);
  for (int i = 0; i < limits->count && rest.size > 0; ++i) {
    const Text uuid = Trim(Cut(&rest, ','));
    const bool named = uuid.StartsWith("GPU-") || uuid.StartsWith("MIG-");
    if (!named || uuid.size >= kUuidSize) {
      for (int other = 0; other < i; ++other) limits->devices[other].uuid[0] = '\0';
      return;
    }
    Copy(uuid, limits->devices[i].uuid, kUuidSize);
  }
}

}  // namespace

const char* ParseSize(Text text, uint64_t* bytes) {
  uint64_t base = 10;
  size_t at = 0;
  if (text.size > 0 && text.data[0] == '0') {
    const bool hexadecimal = text.size > 2 && (text.data[1] == 'x' || text.data[1] == 'X');
    base = hexadecimal ? 16 : 8;
    at = hexadecimal ? 2 : 0;
  }
  uint64_t value = 0;
  const size_t first = at;
  for (; at < text.size && static_cast<uint64_t>(DigitOf(text.data[at])) < base; ++at) {
    if (value > kMaxBytes) return "larger than 32 TiB:";
    value = value * base + static_cast<uint64_t>(DigitOf(text.data[at]));
  }
  if (at == first) return "not a size, such as 2048m:";
  const int shift = at < text.size ? ShiftOf(text.data[at]) : 0;
  if (at + (shift > 0 ? 1 : 0) != text.size) {
    return "a size ends in k, m or g at most, and has no fraction:";
  }
  if (value > kMaxBytes >> shift) return "larger than 32 TiB:";
  *bytes = value << shift;
  return nullptr;
}

void ParseEnvironment(Lookup variable, Environment* environment, const char* region) {
  *environment = {};
  Limits& limits = environment->limits;
  limits.source = Source::kEnvironment;
  limits.priority = kDefaultPriority;
  limits.log_level = 0;
  Copy(Text(region), limits.region, sizeof(limits.region));
  ReadLimits(variable, environment);
  ReadPolicies(variable, environment);
  ReadPlaces(variable, environment);
  ReadUuids(variable, &limits);
}

}  // namespace tessera::limiter
