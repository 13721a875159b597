// SPDX-License-Identifier: Apache-2.0
// Measures a process's first context on a device. CUDA reports free memory only to a process with a
// context there, so not before it is made. NVML reports each process's memory, perhaps under
// another id of this process. If exactly one process is new since before the context was made, it
// is this one, and its memory is the context. One thread.
#pragma once

#include <cstdint>

#include "limiter/driver/cuda.h"
#include "limiter/driver/nvml.h"
#include "limiter/memory/nvml_order.h"

namespace tessera::limiter {

class NewContext {
 public:
  // Construct before the context is made. Loads NVML for its own lifetime if the program has not
  // loaded it.
  explicit NewContext(CUdevice device);
  ~NewContext();
  NewContext(const NewContext&) = delete;
  NewContext& operator=(const NewContext&) = delete;

  // The context's bytes; 0: not known.
  uint64_t Bytes() const;

 private:
  const OpenedNvml nvml_;
  nvmlDevice_t device_ = nullptr;
  nvmlProcessInfo_v2_t* before_ = nullptr;  // room for two lists; null: NVML does not answer
  unsigned count_ = 0;
};

}  // namespace tessera::limiter
