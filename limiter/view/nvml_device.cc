// SPDX-License-Identifier: Apache-2.0
#include "limiter/view/nvml_device.h"

#include <atomic>

#include "limiter/books/books.h"

namespace tessera::limiter {
namespace {

constexpr unsigned kUuidLength = 96;

int PlaceOf(nvmlDevice_t device) {
  char uuid[kUuidLength];
  const bool known = TheNvml().nvmlDeviceGetUUID(device, uuid, sizeof uuid) == NVML_SUCCESS;
  return known ? DeviceOf(uuid) : -1;
}

// The books count devices that only the environment limits in the order in which they hear of them,
// and it means that of the bus, which is NVML's.
void NameAll() {
  static constinit std::atomic<bool> are_named = false;
  if (are_named.load(std::memory_order_acquire)) return;
  unsigned count = 0;
  if (TheNvml().nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS) return;
  for (unsigned i = 0; i < count; ++i) {
    nvmlDevice_t device = nullptr;
    if (TheNvml().nvmlDeviceGetHandleByIndex_v2(i, &device) == NVML_SUCCESS) PlaceOf(device);
  }
  are_named.store(true, std::memory_order_release);
}

}  // namespace

int PlaceOfNvml(nvmlDevice_t device) {
  NameAll();
  return PlaceOf(device);
}

}  // namespace tessera::limiter
