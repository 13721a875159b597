// SPDX-License-Identifier: Apache-2.0
// Memory of pools, which is allocated and freed in the order of streams. A pool takes segments of
// its card, and keeps those that nothing is in until something is waited for, and then as many as
// its release threshold says. Any thread.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "cuda/contexts.h"
#include "cuda/memory.h"

namespace tessera::fake_cuda {

// A piece of a segment; pieces lie side by side.
struct Piece {
  uint64_t segment = 0;  // where that begins
  uint64_t bytes = 0;
  bool used = false;
  CUstream freed_in = nullptr;  // for that stream's work it is free at once,
  Mark freed_at = 0;            // for others' from here on
};

struct Segment {
  uint64_t bytes = 0;
  uint64_t used = 0;
  ObjectName object{};  // none: nothing in it was exported
};

}  // namespace tessera::fake_cuda

struct CUmemPoolHandle_st {
  int device = 0;
  unsigned card = 0;
  bool is_default = false;
  bool imported = false;  // nothing is allocated from it here
  bool on_host = false;
  CUmemAllocationType kind = CU_MEM_ALLOCATION_TYPE_PINNED;
  CUmemLocationType location = CU_MEM_LOCATION_TYPE_DEVICE;  // as it was asked for
  uint64_t most = 0;                                         // bytes; 0: as many as there are
  std::mutex mutex;                                          // guards what follows
  bool alive = true;
  uint64_t threshold = 0;
  uint64_t reserved = 0, most_reserved = 0;
  uint64_t used = 0, most_used = 0;
  int reuse[3] = {1, 1, 1};
  std::map<uint64_t, tessera::fake_cuda::Segment> segments;  // by address
  std::map<uint64_t, tessera::fake_cuda::Piece> pieces;      // by address
  std::set<std::pair<uint64_t, uint64_t>> free;              // pieces' bytes and addresses
};

namespace tessera::fake_cuda {

// 0: there is not so much.
uint64_t AllocatePooled(CUmemPoolHandle_st& pool, uint64_t bytes, CUstream stream);
bool FreePooledIn(uint64_t address, CUstream stream);
// What the segment is that an address is in, which is exported; none: it is in no pool.
ObjectName ExportSegment(uint64_t address);
// What another process' pool gave (pool_sharing.cc).
bool FreeImported(uint64_t address);
// The pool that a device's streams allocate from.
CUmemoryPool PoolOf(int device);
CUmemoryPool DefaultPoolOf(int device);
void SetPoolOf(int device, CUmemoryPool pool);

CUmemoryPool NewPool(int device, bool on_host, uint64_t most);
bool IsPool(CUmemoryPool pool);
void DestroyPool(CUmemoryPool pool);
void TrimPool(CUmemoryPool pool, uint64_t keep);
// After something was waited for: what pools need not keep goes back.
void ReleaseUnused(int device);

}  // namespace tessera::fake_cuda
