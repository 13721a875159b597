// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limiter/driver/cuda.h"
#include "limiter/driver/functions.h"

// The real driver: whichever libcuda the program itself loaded. This library never opens one.

namespace tessera::limiter {

// The driver's own functions; none is null. A function that the driver lacks returns
// CUDA_ERROR_NOT_SUPPORTED. Without a driver all return CUDA_ERROR_NOT_INITIALIZED. The caller owns
// all arguments. No lock is held during a call.
struct Driver {
#define HOOKED(name, since) decltype(&::name) name;
#define CALLED(name, since) decltype(&::name) name;
#include "limiter/driver/functions.def"
};

// The driver of this process. Any thread. It is found at the first call after a driver was loaded.
// A driver that answered a lookup of the program comes first (TakeDriver), then the first in the
// loader's list. It stays until it is unloaded.
const Driver& TheDriver();

// A lookup of the program ended at this address. True if it is in a driver; that one is then this
// process's, if it had none.
bool TakeDriver(const void* address);
// True if any loaded driver has this function, whichever objects may see it.
bool AnyDriverHas(const char* name);
// A library was unloaded, perhaps the driver: look again.
void LookForDriverAnew();

// The function at this address of the driver; kNone: none of functions.h.
Function FunctionAt(const void* address);

}  // namespace tessera::limiter
