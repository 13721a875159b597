// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "limiter/driver/cuda.h"
#include "limiter/driver/functions.h"

// The real driver: the libcuda that the program itself loaded, whichever that is. None is ever
// opened here.

namespace tessera::limiter {

// The driver's own functions. None is null: one that the driver lacks answers
// CUDA_ERROR_NOT_SUPPORTED, and without a driver all answer CUDA_ERROR_NOT_INITIALIZED. What they
// are called with is the caller's; no lock is held while one runs.
struct Driver {
#define HOOKED(name, since) decltype(&::name) name;
#define CALLED(name, since) decltype(&::name) name;
#include "limiter/driver/functions.def"
};

// The driver of this process. Any thread. It is looked for at the first call after a driver was
// loaded: the one that a lookup of the program's landed in (TakeDriver), else the first in the
// loader's list. It stays until it is unloaded.
const Driver& TheDriver();

// A lookup of the program's ended at this address: whether that is in a driver, which is then the
// driver of this process if it had none.
bool TakeDriver(const void* address);
// A driver has this function: one that is loaded anywhere, whoever may see it.
bool AnyDriverHas(const char* name);
// Something was unloaded; it may have been the driver.
void LookForDriverAnew();

// The function whose address in the driver this is; kNone if it is none of those in functions.h.
Function FunctionAt(const void* address);

}  // namespace tessera::limiter
