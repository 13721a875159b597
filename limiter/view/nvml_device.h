// SPDX-License-Identifier: Apache-2.0
// NVML's devices in the books. Any thread; joins them.
#pragma once

#include "limiter/driver/nvml.h"

namespace tessera::limiter {

// The device's place; -1: it is not limited, or NVML does not know it.
int PlaceOfNvml(nvmlDevice_t device);

}  // namespace tessera::limiter
