// SPDX-License-Identifier: Apache-2.0
// The driver's devices in the accounting, by UUID: a device's number is the program's own affair
// (CUDA_VISIBLE_DEVICES), and the current device is not the one whose memory is freed. Any thread;
// the driver is asked at first, and what it told is remembered; what it refused is asked again.
#pragma once

#include "limiter/driver/driver.h"

namespace tessera::limiter {

// As DeviceOf (accounting/accounting.h). -1 also where the driver has no such device, or is not
// initialised yet: it gives nothing then.
int PlaceOfDevice(CUdevice device);
// -1: it is of no device.
int DeviceOfLocation(const CUmemLocation& location);
// -1 also for the host's memory, which is not counted, wherever it is used.
int PlaceOfLocation(const CUmemLocation& location);
// Of the calling thread's context; -1 also where there is none, which the driver then says itself.
int CurrentPlace();
// Bytes that are free of a device, as the driver tells the calling thread's context. 0: that is
// another device's, or none, or the driver does not tell.
uint64_t FreeInContext(CUdevice device);
// Of memory that the driver gave; -1 also for memory that is not a device's.
int PlaceOfPointer(CUdeviceptr pointer);

// The first one of the driver's devices of which is(device) is true. -1: of none, or the driver
// does not tell how many there are.
template <typename Is>
CUdevice FindDevice(Is is) {
  int count = 0;
  if (TheDriver().cuDeviceGetCount(&count) != CUDA_SUCCESS) return -1;
  for (CUdevice device = 0; device < count; ++device) {
    if (is(device)) return device;
  }
  return -1;
}

// "GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76": a UUID as NVML writes it.
struct UuidText {
  char text[41];
};
UuidText WriteUuid(const CUuuid& uuid, bool is_mig);
// False: the driver does not tell.
bool UuidOf(CUdevice device, UuidText* uuid);

}  // namespace tessera::limiter
