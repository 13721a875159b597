// SPDX-License-Identifier: Apache-2.0
// NVML's devices in the accounting. Any thread; joins them.
#pragma once

#include "limiter/contract.h"
#include "limiter/driver/nvml.h"

namespace tessera::limiter {

// What NVML's device is in the accounting. A GPU that is divided is none of CUDA's devices, and
// NVML tells of it what its MIG devices have together: so it is those of them that are the
// container's.
struct NvmlParts {
  struct Part {
    nvmlDevice_t device;
    int place;  // -1: it is not limited, or NVML does not know it
  };
  bool is_divided = false;
  int count = 0;  // 1 of a device that is whole, or of a GPU none of whose parts is the container's
  Part parts[kMaxDevices] = {};

  const Part* begin() const { return parts; }
  const Part* end() const { return parts + count; }
};

NvmlParts PartsOfNvml(nvmlDevice_t device);

}  // namespace tessera::limiter
