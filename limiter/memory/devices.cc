// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/devices.h"

#include <atomic>

#include "limiter/books/books.h"
#include "limiter/driver/driver.h"
#include "limiter/limits/limits.h"
#include "limiter/limits/text.h"

namespace tessera::limiter {
namespace {

constexpr int kMostDevices = 64;
// Places, and 2; 0: not looked up yet.
constinit std::atomic<int> places[kMostDevices] = {};

void WriteUuid(const CUuuid& uuid, char* text) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *text++ = '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    *text++ = kDigits[byte >> 4];
    *text++ = kDigits[byte & 15];
  }
  *text = '\0';
}

int LookUp(CUdevice device) {
  CUuuid uuid;
  const Driver& driver = TheDriver();
  // The newer one names a MIG device, the older one its GPU.
  if (driver.cuDeviceGetUuid_v2(&uuid, device) != CUDA_SUCCESS &&
      driver.cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS) {
    return -1;
  }
  char name[48] = "MIG-";
  WriteUuid(uuid, name + 4);
  const Limits& limits = TheLimits();
  for (int i = 0; i < limits.count; ++i) {
    if (Text(limits.devices[i].uuid) == name) return DeviceOf(name);
  }
  memcpy(name, "GPU-", 4);
  return DeviceOf(name);
}

}  // namespace

int PlaceOfDevice(CUdevice device) {
  if (device < 0 || device >= kMostDevices) return -1;
  const int known = places[device].load(std::memory_order_relaxed);
  if (known != 0) [[likely]]
    return known - 2;
  // In their order, which is the one that counts where only the environment counts devices.
  for (CUdevice each = 0; each <= device; ++each) {
    if (places[each].load(std::memory_order_relaxed) == 0) places[each].store(LookUp(each) + 2);
  }
  return places[device].load(std::memory_order_relaxed) - 2;
}

int CurrentPlace() {
  CUdevice device = -1;
  return TheDriver().cuCtxGetDevice(&device) == CUDA_SUCCESS ? PlaceOfDevice(device) : -1;
}

int PlaceOfPointer(CUdeviceptr pointer) {
  int device = -1;
  unsigned type = 0;
  const Driver& driver = TheDriver();
  constexpr unsigned kHost = 1;
  if (driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) ==
          CUDA_SUCCESS &&
      type == kHost) {
    return -1;
  }
  const bool known = driver.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                                  pointer) == CUDA_SUCCESS;
  return known ? PlaceOfDevice(device) : -1;
}

}  // namespace tessera::limiter
