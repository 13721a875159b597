// SPDX-License-Identifier: Apache-2.0
// The order of devices that limits by position mean. Any thread.
#pragma once

#include "limiter/driver/nvml.h"

namespace tessera::limiter {

// NVML for as long as this lives: the program's own, or, where that has loaded none, the system's
// for this time.
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

// Names all of NVML's devices to the accounting in NVML's order, once a process; those that the
// accounting know keep their places. NVML has all of the container's, the driver only those that
// this process may see (CUDA_VISIBLE_DEVICES), and in an order of its own. False: NVML does not
// tell, or is not open.
bool NameInOrderOfNvml();

}  // namespace tessera::limiter
