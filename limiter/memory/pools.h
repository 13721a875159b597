// SPDX-License-Identifier: Apache-2.0
// Pools. The memory that a pool holds of a device is counted, not the allocations from it. The
// driver reports that amount; it is read after every call that may change it. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/accounting/mutex.h"
#include "limiter/driver/cuda.h"

namespace tessera::limiter {

struct Pool {
  std::atomic<CUmemoryPool> pool;  // null: the place is free
  int place;                       // -1: not counted
  std::atomic<uint64_t> charged;   // bytes
  std::atomic<bool> is_exported;   // others may hold its memory
  std::atomic<bool> is_ending;     // the program destroyed it
};

// Places of destroyed pools are used again.
struct Pools {
  Mutex adding;
  Mutex ending;
  Mutex settling;  // of exported pools
  std::atomic<uint32_t> count;
  Pool all[1024];
};

// This process's. Null: no memory.
Pools* ThePools();
// Null: not known.
Pool* PoolFor(CUmemoryPool pool);
// Null: too many pools.
Pool* EnterPool(CUmemoryPool pool, int place);

// False: the driver does not report it; *value is 0 then.
bool AskPool(CUmemoryPool pool, CUmemPool_attribute attribute, uint64_t* value);
// Counts the pool's memory, of which `credit` bytes are reserved already. False: past the limit. If
// the driver does not answer, the pool is being destroyed right now and its former amount stays;
// without its context the amount is 0.
bool SettlePool(Pool* pool, uint64_t credit, bool has_context = true);

}  // namespace tessera::limiter
