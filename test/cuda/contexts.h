// SPDX-License-Identifier: Apache-2.0
// Contexts: the objects behind CUcontext handles. The driver owns them. A destroyed context stays
// in memory: on a thread where it is current, calls must fail with "context is destroyed". Any
// thread.
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
  CUctx_st* const owner;  // has all that is made here: a green one's primary context, else itself
  tessera::fake_cuda::Heap heap;
  std::atomic<bool> active = false;
  std::atomic<unsigned> flags = 0;
  std::atomic<unsigned> references = 0;
  std::atomic<uint64_t> limits[16] = {};  // by CUlimit
  std::atomic<uint64_t> heaps = 0;        // bytes of the heaps for kernels' printf and malloc
  CUstream_st legacy;                     // the default stream
};

namespace tessera::fake_cuda {

// The owner of all that this thread makes now. Null: no active context is current.
inline CUcontext Current() {
  const CUcontext context = t_context;
  return context != nullptr && context->active ? context->owner : nullptr;
}

// Green contexts (green.cc) are contexts too.
CUcontext NewGreen(Driver& driver, CUcontext primary);
void DropGreen(CUcontext green);

// The device's primary context, active or not.
CUcontext PrimaryOf(int device);

// Frees the memory and objects that end with a context.
void DropMemoryOf(CUcontext context);
void DropImportsOf(CUcontext context);
void DropPoolsOf(CUcontext context);
void DropArraysOf(CUcontext context);
void DropExternalOf(CUcontext context);
void DropGraphMemoryOf(CUcontext context);
void DropStreamsOf(CUcontext context);

}  // namespace tessera::fake_cuda
