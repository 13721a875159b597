// SPDX-License-Identifier: Apache-2.0
// Which of the container's books (books/books.h) a device of the driver's is in. A process that is
// given other devices, or the same in another order, has them in the same books: they go by UUID.
#pragma once

#include "limiter/driver/cuda_types.h"

namespace tessera::limiter {

// -1: it is not limited, or there is no such device, or the driver is not initialised yet. Any
// thread; asks the driver at first, and remembers.
int PlaceOf(CUdevice device);

// Of the device of the calling thread's context; -1 without one.
int PlaceOfCurrent();

// "GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76": a UUID as NVML writes it.
struct UuidText {
  char text[41];
};
UuidText WriteUuid(const CUuuid& uuid, bool is_mig);

}  // namespace tessera::limiter
