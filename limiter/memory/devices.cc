// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/devices.h"

#include <atomic>
#include <cstring>

#include "limiter/accounting/accounting.h"
#include "limiter/accounting/cancel.h"
#include "limiter/driver/driver.h"
#include "limiter/memory/nvml_order.h"

namespace tessera::limiter {
namespace {

constexpr int kMostDevices = 128;

// Filled at first need, without a lock: threads that race write the same values.
constinit std::atomic<int8_t> places[kMostDevices] = {};
constinit std::atomic<int> known = 0;  // the number of devices; 0: not all are placed yet

uint64_t BusOf(CUdevice device) {
  uint64_t bus = 0;
  for (const CUdevice_attribute part :
       {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,
        CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID}) {
    int value = 0;
    if (TheDriver().cuDeviceGetAttribute(&value, part, device) != CUDA_SUCCESS) value = 0;
    bus = bus << 16 | (static_cast<unsigned>(value) & 0xffff);
  }
  return bus;
}

// The environment counts devices in NVML's order, which includes the container's devices that this
// process may not see. Without NVML it is the order of the bus.
void AskNvml() {
  const Uncancelled uncancelled;
  const OpenedNvml nvml;
  if (nvml) NameInOrderOfNvml();
}

// Sorts device numbers by their bus. False: the driver does not report a device's UUID.
bool Sort(int count, uint8_t* order) {
  uint64_t buses[kMostDevices];
  bool are_named = true, is_asked = false;
  for (int i = 0; i < count; ++i) {
    UuidText uuid;
    const bool is_named = UuidOf(i, &uuid);
    are_named = is_named && are_named;
    if (is_named && !is_asked && WouldTakePlace(uuid.text)) {
      is_asked = true;
      AskNvml();
    }
    buses[i] = BusOf(i);
    int at = i;
    for (; at > 0 && buses[order[at - 1]] > buses[i]; --at) order[at] = order[at - 1];
    order[at] = static_cast<uint8_t>(i);
  }
  return are_named;
}

// Places all devices at once, in the order of the bus: the environment counts that way, and the
// driver may have put the fastest first. A device without a UUID has no place, and then no device
// gets one by that order. Returns the number of devices; 0: not known.
//
// Little stack is used, since the thread may be small. So UUIDs are asked for twice.
int FindAll() {
  int count = 0;
  if (TheDriver().cuDeviceGetCount(&count) != CUDA_SUCCESS || count <= 0) return 0;
  if (count > kMostDevices) count = kMostDevices;
  Join();
  uint8_t order[kMostDevices];
  bool are_named = Sort(count, order);
  for (int i = 0; i < count; ++i) {
    UuidText uuid;
    const bool is_named = UuidOf(order[i], &uuid) && (are_named || LimitsNameDevices());
    are_named = are_named && is_named;
    const int place = DeviceOf(is_named ? uuid.text : nullptr);
    places[order[i]].store(static_cast<int8_t>(place), std::memory_order_relaxed);
  }
  if (are_named) known.store(count, std::memory_order_release);
  return count;
}

}  // namespace

int PlaceOfDevice(CUdevice device) {
  int count = known.load(std::memory_order_acquire);
  if (count == 0) [[unlikely]]
    count = FindAll();
  if (device < 0 || device >= count) return -1;
  return places[device].load(std::memory_order_relaxed);
}

int DeviceOfLocation(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) return location.id;
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN ? location.id & 0xff : -1;
}

int PlaceOfLocation(const CUmemLocation& location) {
  return PlaceOfDevice(DeviceOfLocation(location));
}

int CurrentPlace() {
  CUdevice device = -1;
  return TheDriver().cuCtxGetDevice(&device) == CUDA_SUCCESS ? PlaceOfDevice(device) : -1;
}

uint64_t FreeInContext(CUdevice device) {
  const Driver& driver = TheDriver();
  CUdevice current = -1;
  size_t free = 0, total = 0;
  if (driver.cuCtxGetDevice(&current) != CUDA_SUCCESS || current != device) return 0;
  return driver.cuMemGetInfo_v2(&free, &total) == CUDA_SUCCESS ? free : 0;
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
  const bool is_known = driver.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                                     pointer) == CUDA_SUCCESS;
  return is_known ? PlaceOfDevice(device) : -1;
}

bool UuidOf(CUdevice device, UuidText* uuid) {
  const Driver& driver = TheDriver();
  // The older function names the GPU; the newer one a MIG device, if it is one.
  CUuuid gpu{}, own{};
  const bool is_named = driver.cuDeviceGetUuid(&gpu, device) == CUDA_SUCCESS;
  if (driver.cuDeviceGetUuid_v2(&own, device) != CUDA_SUCCESS) own = gpu;
  *uuid = WriteUuid(own, memcmp(&gpu, &own, sizeof gpu) != 0);
  return is_named;
}

UuidText WriteUuid(const CUuuid& uuid, bool is_mig) {
  constexpr char kDigits[] = "0123456789abcdef";
  UuidText written{};
  memcpy(written.text, is_mig ? "MIG-" : "GPU-", 4);
  char* at = written.text + 4;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    *at++ = kDigits[byte >> 4];
    *at++ = kDigits[byte & 15];
  }
  return written;
}

}  // namespace tessera::limiter
