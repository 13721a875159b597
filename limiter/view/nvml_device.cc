// SPDX-License-Identifier: Apache-2.0
#include "limiter/view/nvml_device.h"

#include "limiter/accounting/accounting.h"
#include "limiter/memory/nvml_order.h"

namespace tessera::limiter {
namespace {

constexpr unsigned kUuidLength = 96;

int PlaceOf(nvmlDevice_t device) {
  char uuid[kUuidLength];
  const bool known = TheNvml().nvmlDeviceGetUUID(device, uuid, sizeof uuid) == NVML_SUCCESS;
  return known ? DeviceOf(uuid) : -1;
}

// The MIG devices of a divided GPU; otherwise the device itself.
NvmlParts Divide(nvmlDevice_t device) {
  NvmlParts divided;
  unsigned most = 0;
  if (TheNvml().nvmlDeviceGetMaxMigDeviceCount(device, &most) != NVML_SUCCESS) most = 0;
  for (unsigned i = 0; i < most && divided.count < kMaxDevices; ++i) {
    nvmlDevice_t part = nullptr;
    if (TheNvml().nvmlDeviceGetMigDeviceHandleByIndex(device, i, &part) != NVML_SUCCESS) continue;
    divided.parts[divided.count++] = {part, PlaceOf(part)};
  }
  divided.is_divided = divided.count > 0;
  if (!divided.is_divided) divided.parts[divided.count++] = {device, PlaceOf(device)};
  return divided;
}

}  // namespace

NvmlParts PartsOfNvml(nvmlDevice_t device) {
  NameInOrderOfNvml();
  const NvmlParts all = Divide(device);
  if (!all.is_divided) return all;
  NvmlParts own{.is_divided = true};
  for (const NvmlParts::Part& part : all) {
    if (part.place != kDeniedDevice) own.parts[own.count++] = part;
  }
  if (own.count > 0) return own;
  return {.is_divided = false, .count = 1, .parts = {{device, kDeniedDevice}}};
}

}  // namespace tessera::limiter
