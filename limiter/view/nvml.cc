// SPDX-License-Identifier: Apache-2.0
// What NVML tells of a device's memory, as nvidia-smi shows it: the same share as CUDA tells.
#include "limiter/driver/nvml.h"

#include "limiter/books/books.h"
#include "limiter/view/memory.h"
#include "limiter/view/nvml_device.h"

namespace tessera::limiter {
namespace {

// What is used is the container's; false: the device is not limited.
template <typename Memory>
bool Share(nvmlDevice_t device, Memory* memory) {
  const int place = PlaceOfNvml(device);
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
