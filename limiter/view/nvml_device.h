// SPDX-License-Identifier: Apache-2.0
// NVML's devices in the accounting. Any thread; joins them.
#pragma once

#include "limiter/contract.h"
#include "limiter/driver/nvml.h"

namespace tessera::limiter {

// An NVML device in the accounting. A divided GPU is not one of CUDA's devices, and NVML reports
// the sum of its MIG devices. So its parts are those of its MIG devices that are the container's.
struct NvmlParts {
  struct Part {
    nvmlDevice_t device;
    int place;  // -1: no limit, or unknown to NVML
  };
  bool is_divided = false;
  int count = 0;  // 1 for a whole device, or a GPU with no part of the container's
  Part parts[kMaxDevices] = {};

  const Part* begin() const { return parts; }
  const Part* end() const { return parts + count; }
};

NvmlParts PartsOfNvml(nvmlDevice_t device);

}  // namespace tessera::limiter
