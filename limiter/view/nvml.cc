// SPDX-License-Identifier: Apache-2.0
// What NVML tells of a device's memory, as nvidia-smi shows it: the same share as CUDA tells.
#include "limiter/driver/nvml.h"

#include <atomic>

#include "limiter/books/books.h"
#include "limiter/view/memory.h"

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

// What is used is the container's; false: the device is not limited.
template <typename Memory>
bool Share(nvmlDevice_t device, Memory* memory) {
  NameAll();
  const int place = PlaceOf(device);
  if (place < 0 || Limit(place) == 0) return false;
  const MemoryView view = ViewOf(place, {memory->free, memory->total});
  memory->total = view.total;
  memory->free = view.free;
  const uint64_t used = Used(place);
  memory->used = used < view.total ? used : view.total;
  return true;
}

}  // namespace
}  // namespace tessera::limiter

using tessera::limiter::TheNvml;

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  const nvmlReturn_t result = TheNvml().nvmlDeviceGetMemoryInfo(device, memory);
  if (result == NVML_SUCCESS) tessera::limiter::Share(device, memory);
  return result;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  const nvmlReturn_t result = TheNvml().nvmlDeviceGetMemoryInfo_v2(device, memory);
  // The driver's own part is not of the container's share.
  if (result == NVML_SUCCESS && tessera::limiter::Share(device, memory)) memory->reserved = 0;
  return result;
}
