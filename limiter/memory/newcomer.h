// SPDX-License-Identifier: Apache-2.0
// What a process's first context takes of a device. CUDA tells what is free of a device to who has
// a context of it, which is too late by then; NVML tells what each process holds. It knows this one
// by another id, maybe: but if one alone is new since before the context was made, it is this one,
// and what it holds is that context. One thread.
#pragma once

#include <cstdint>

#include "limiter/driver/cuda.h"
#include "limiter/driver/nvml.h"
#include "limiter/memory/nvml_order.h"

namespace tessera::limiter {

class NewContext {
 public:
  // Before the context is made. Where the program has not loaded NVML it is loaded, if it is there,
  // until this ends.
  explicit NewContext(CUdevice device);
  ~NewContext();
  NewContext(const NewContext&) = delete;
  NewContext& operator=(const NewContext&) = delete;

  // Bytes that it holds now; 0: nobody knows.
  uint64_t Bytes() const;

 private:
  const OpenedNvml nvml_;
  nvmlDevice_t device_ = nullptr;
  nvmlProcessInfo_v2_t* before_ = nullptr;  // room for two lists; null: nobody tells
  unsigned count_ = 0;
};

}  // namespace tessera::limiter
