// SPDX-License-Identifier: Apache-2.0
// Looks up device addresses, however their memory was made. Any thread.
#pragma once

#include <optional>

#include "cuda/heap.h"
#include "limiter/driver/cuda.h"

namespace tessera::fake_cuda {

struct Found {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  int device = 0;
  bool managed = false;
  CUcontext context = nullptr;
  CUmemoryPool pool = nullptr;
};

// Each looks in one place: blocks (memory.cc), pools (pools.cc), mapped memory (vmm.cc).
std::optional<Found> FindInHeaps(uint64_t address);
std::optional<Found> FindInPools(uint64_t address);
std::optional<Found> FindMapped(uint64_t address);

// The content of a shared file descriptor, of CUDA's memory or another interface's.
struct FileContent {
  uint64_t magic = 0;
  ObjectName object{};
  CUmemAllocationProp properties{};
  static constexpr uint64_t kCudas = 0x6d656d6f7279;
  static constexpr uint64_t kExternal = 0x65787465726e;
};

// Makes a handle that can be mapped and released, but has no memory (multicast.cc).
uint64_t AddWithoutMemory(uint64_t bytes);

// Unmaps a buffer of another interface's memory. False: none begins there.
bool FreeMappedBuffer(uint64_t address);

// Frees a pool's allocation at once, for cuMemFree. False: it is no pool's.
bool FreePooled(uint64_t address);

}  // namespace tessera::fake_cuda
