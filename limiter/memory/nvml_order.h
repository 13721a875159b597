// SPDX-License-Identifier: Apache-2.0
// The order of devices for limits by position. Any thread.
#pragma once

#include "limiter/driver/nvml.h"

namespace tessera::limiter {

// Keeps NVML open for its own lifetime: the program's own, otherwise the system's.
class OpenedNvml {
 public:
  OpenedNvml();
  ~OpenedNvml();
  OpenedNvml(const OpenedNvml&) = delete;
  OpenedNvml& operator=(const OpenedNvml&) = delete;

  explicit operator bool() const { return is_open_; }

 private:
  void* library_ = nullptr;
  bool is_open_ = false;
};

// Names all of NVML's devices to the accounting, in NVML's order, once a process. Known devices
// keep their places. NVML lists all devices of the container. The driver lists only those of
// CUDA_VISIBLE_DEVICES, in its own order. False: NVML is not open or does not answer.
bool NameInOrderOfNvml();

}  // namespace tessera::limiter
