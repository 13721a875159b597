// SPDX-License-Identifier: Apache-2.0
// Hooks of NVML's queries of a device's memory, as nvidia-smi shows it: the same share as in CUDA.
#include "limiter/driver/nvml.h"

#include "limiter/accounting/accounting.h"
#include "limiter/view/memory.h"
#include "limiter/view/nvml_device.h"

namespace tessera::limiter {
namespace {

struct Share {
  MemoryView view;
  uint64_t used;
};

// The used bytes are the container's.
Share ShareOfPlace(int place, const MemoryView& device) {
  const MemoryView view = ViewOf(place, device);
  const uint64_t used = Used(place);
  return {view, used < view.total ? used : view.total};
}

// A part of a divided GPU.
Share ShareOfPart(const NvmlParts::Part& part) {
  nvmlMemory_t memory{};
  if (TheNvml().nvmlDeviceGetMemoryInfo(part.device, &memory) != NVML_SUCCESS) return {};
  if (Limit(part.place) == 0) return {{memory.free, memory.total}, memory.used};
  return ShareOfPlace(part.place, {memory.free, memory.total});
}

// False: the device is not limited.
template <typename Memory>
bool Limited(nvmlDevice_t device, Memory* memory) {
  const NvmlParts parts = PartsOfNvml(device);
  bool is_limited = parts.is_divided && LimitsNameDevices();
  for (const NvmlParts::Part& part : parts) is_limited = is_limited || Limit(part.place) != 0;
  if (!is_limited) return false;
  Share sum{};
  for (const NvmlParts::Part& part : parts) {
    const Share share = parts.is_divided ? ShareOfPart(part)
                                         : ShareOfPlace(part.place, {memory->free, memory->total});
    sum.view.free += share.view.free;
    sum.view.total += share.view.total;
    sum.used += share.used;
  }
  memory->total = sum.view.total;
  memory->free = sum.view.free;
  memory->used = sum.used;
  return true;
}

}  // namespace
}  // namespace tessera::limiter

using tessera::limiter::TheNvml;

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  const nvmlReturn_t result = TheNvml().nvmlDeviceGetMemoryInfo(device, memory);
  if (result == NVML_SUCCESS) tessera::limiter::Limited(device, memory);
  return result;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  const nvmlReturn_t result = TheNvml().nvmlDeviceGetMemoryInfo_v2(device, memory);
  // The driver's own part is not in the container's share.
  if (result == NVML_SUCCESS && tessera::limiter::Limited(device, memory)) memory->reserved = 0;
  return result;
}
