// SPDX-License-Identifier: Apache-2.0
// The driver's devices in the accounting, found by UUID. A device's number means nothing outside
// its process (CUDA_VISIBLE_DEVICES). The current device need not be the one whose memory is freed.
// Any thread. The driver's answers are remembered; a refusal is asked again.
#pragma once

#include "limiter/driver/driver.h"

namespace tessera::limiter {

// DeviceOf() (accounting/accounting.h) for a device of the driver. Also -1 if the driver has no
// such device or is not initialised: it then allocates nothing.
int PlaceOfDevice(CUdevice device);
// -1: not a device.
int DeviceOfLocation(const CUmemLocation& location);
// Also -1 for host memory, which is never counted.
int PlaceOfLocation(const CUmemLocation& location);
// The place of the calling thread's context. Also -1 without a context, which the driver then
// reports.
int CurrentPlace();
// Free bytes of a device, as the driver reports them to the calling thread's context. 0: not known.
// The context may be another device's or missing, or the driver does not answer.
uint64_t FreeInContext(CUdevice device);
// The place of allocated memory. Also -1 for memory that is not a device's.
int PlaceOfPointer(CUdeviceptr pointer);

// The driver's first device for which is(device) is true. -1: none, or the driver does not answer.
template <typename Is>
CUdevice FindDevice(Is is) {
  int count = 0;
  if (TheDriver().cuDeviceGetCount(&count) != CUDA_SUCCESS) return -1;
  for (CUdevice device = 0; device < count; ++device) {
    if (is(device)) return device;
  }
  return -1;
}

// A UUID as NVML writes it: "GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76".
struct UuidText {
  char text[41];
};
UuidText WriteUuid(const CUuuid& uuid, bool is_mig);
// False: the driver does not report it.
bool UuidOf(CUdevice device, UuidText* uuid);

}  // namespace tessera::limiter
