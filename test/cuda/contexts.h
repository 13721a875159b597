// SPDX-License-Identifier: Apache-2.0
// Contexts: what a handle of one points to. One that was destroyed stays, so that a thread on which
// it is current learns that it is no more. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda/driver.h"
#include "cuda/heap.h"
#include "cuda/streams.h"

struct CUctx_st {
  CUctx_st(tessera::fake_cuda::Driver& driver, int of_device, bool is_primary);
  CUctx_st(tessera::fake_cuda::Driver& driver, CUctx_st* primary_context);  // a green one

  const int device;
  const unsigned card;
  const bool primary;
  CUctx_st* const owner;  // of what is made in it: of a green one the primary, else itself
  tessera::fake_cuda::Heap heap;
  std::atomic<bool> active = false;
  std::atomic<unsigned> flags = 0;
  std::atomic<unsigned> references = 0;
  std::atomic<uint64_t> limits[16] = {};
  std::atomic<uint64_t> heaps = 0;  // bytes of them, for what kernels print and allocate
  CUstream_st legacy;
};

namespace tessera::fake_cuda {

// Whose all is that is made now.
inline CUcontext Current() {
  const CUcontext context = t_context;
  return context != nullptr && context->active ? context->owner : nullptr;
}

// Contexts of a part of a device (green.cc) are among the others.
CUcontext NewGreen(Driver& driver, CUcontext primary);
void DropGreen(CUcontext green);

// The primary context of each device, whether it is active or not.
CUcontext PrimaryOf(int device);

// What goes with a context: each is told its subject's are to be dropped.
void DropMemoryOf(CUcontext context);
void DropImportsOf(CUcontext context);
void DropPoolsOf(CUcontext context);
void DropArraysOf(CUcontext context);
void DropGraphMemoryOf(CUcontext context);
void DropStreamsOf(CUcontext context);

}  // namespace tessera::fake_cuda
