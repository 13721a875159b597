// SPDX-License-Identifier: Apache-2.0
#include "limiter/device/place.h"

#include <atomic>
#include <cstring>

#include "limiter/books/books.h"
#include "limiter/driver/driver.h"

namespace tessera::limiter {
namespace {

constexpr int kMostDevices = 128;

struct Found {
  UuidText uuid;
  uint64_t bus;
};

// Made by whoever needs them first; who comes at the same time makes the same.
std::atomic<int8_t> places[kMostDevices];
std::atomic<int> known;  // devices, 0 before

int Attribute(CUdevice_attribute attribute, CUdevice device) {
  int value = 0;
  return TheDriver().cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

bool Find(CUdevice device, Found* found) {
  // The first names the GPU, the second a MIG device, where it is one.
  CUuuid gpu{}, own{};
  if (TheDriver().cuDeviceGetUuid(&gpu, device) != CUDA_SUCCESS) return false;
  if (TheDriver().cuDeviceGetUuid_v2(&own, device) != CUDA_SUCCESS) own = gpu;
  found->uuid = WriteUuid(own, memcmp(&gpu, &own, sizeof gpu) != 0);
  const auto part = [&](CUdevice_attribute attribute) {
    return static_cast<uint64_t>(Attribute(attribute, device)) & 0xffff;
  };
  found->bus = part(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID) << 32 |
               part(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) << 16 | part(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  return true;
}

// All at once and in the order of the bus: the environment names devices by their number in it, and
// the driver may have put the fastest first.
bool FindAll() {
  Found found[kMostDevices];
  int order[kMostDevices];
  int count = 0;
  if (TheDriver().cuDeviceGetCount(&count) != CUDA_SUCCESS || count <= 0) return false;
  if (count > kMostDevices) count = kMostDevices;
  for (int i = 0; i < count; ++i) {
    if (!Find(i, &found[i])) return false;
    int at = i;
    for (; at > 0 && found[order[at - 1]].bus > found[i].bus; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  for (int i = 0; i < count; ++i) {
    const int place = DeviceOf(found[order[i]].uuid.text);
    places[order[i]].store(static_cast<int8_t>(place), std::memory_order_relaxed);
  }
  known.store(count, std::memory_order_release);
  return true;
}

}  // namespace

int PlaceOf(CUdevice device) {
  if (known.load(std::memory_order_acquire) == 0 && !FindAll()) return -1;
  if (device < 0 || device >= known.load(std::memory_order_relaxed)) return -1;
  return places[device].load(std::memory_order_relaxed);
}

int PlaceOfCurrent() {
  CUdevice device = -1;
  return TheDriver().cuCtxGetDevice(&device) == CUDA_SUCCESS ? PlaceOf(device) : -1;
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
