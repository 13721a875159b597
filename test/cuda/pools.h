// SPDX-License-Identifier: Apache-2.0
// Memory pools: memory that is allocated and freed in a stream's order. A pool takes segments of
// its card. It keeps unused segments until the program waits for work. Then it keeps only as many
// bytes as its release threshold says, as CUDA documents. Any thread.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "cuda/contexts.h"
#include "cuda/memory.h"

namespace tessera::fake_cuda {

// A piece of a segment. A segment's pieces cover it without gaps.
struct Piece {
  uint64_t segment = 0;  // the segment's address
  uint64_t bytes = 0;
  bool used = false;
  CUstream freed_in = nullptr;  // later work of this stream may use it at once
  Mark freed_at = 0;            // other streams' work, only after this mark
};

struct Segment {
  uint64_t bytes = 0;
  uint64_t used = 0;
  ObjectName object{};  // none: not exported
};

}  // namespace tessera::fake_cuda

struct CUmemPoolHandle_st {
  int device = 0;
  unsigned card = 0;
  bool is_default = false;
  bool imported = false;  // another process's: this one cannot allocate from it
  bool on_host = false;
  CUmemAllocationType kind = CU_MEM_ALLOCATION_TYPE_PINNED;
  CUmemLocationType location = CU_MEM_LOCATION_TYPE_DEVICE;  // as the program asked
  uint64_t most = 0;                                         // bytes at most; 0: no limit
  std::mutex mutex;                                          // guards the members below
  bool alive = true;
  uint64_t threshold = 0;  // bytes to keep
  uint64_t reserved = 0, most_reserved = 0;
  uint64_t used = 0, most_used = 0;
  int reuse[3] = {1, 1, 1};
  std::map<uint64_t, tessera::fake_cuda::Segment> segments;  // by address
  std::map<uint64_t, tessera::fake_cuda::Piece> pieces;      // by address
  std::set<std::pair<uint64_t, uint64_t>> free;              // pieces' bytes and addresses
};

namespace tessera::fake_cuda {

// 0: the card, or the pool, has too little memory.
uint64_t AllocatePooled(CUmemPoolHandle_st& pool, uint64_t bytes, CUstream stream);
// Frees in the stream's order; `stream` null: at once. False: no pool's allocation begins there.
bool FreePooledIn(uint64_t address, CUstream stream);
// Exports the segment around the address, or returns its object again. None: it is in no pool of a
// card.
ObjectName ExportSegment(uint64_t address);
// Frees memory of another process's pool (pool_sharing.cc). False: none begins there.
bool FreeImported(uint64_t address);
// The pool from which a device's streams allocate.
CUmemoryPool PoolOf(int device);
CUmemoryPool DefaultPoolOf(int device);
void SetPoolOf(int device, CUmemoryPool pool);

CUmemoryPool NewPool(int device, bool on_host, uint64_t most);
bool IsPool(CUmemoryPool pool);
void DestroyPool(CUmemoryPool pool);
void TrimPool(CUmemoryPool pool, uint64_t keep);
// For waits: trims the device's pools to their thresholds.
void ReleaseUnused(int device);

}  // namespace tessera::fake_cuda
