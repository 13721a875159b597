// SPDX-License-Identifier: Apache-2.0
// Pools: what they hold of a device counts, not what is taken from them. The driver says how much
// that is; it is looked at after every call that may change it. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/accounting/mutex.h"
#include "limiter/driver/cuda.h"

namespace tessera::limiter {

struct Pool {
  std::atomic<CUmemoryPool> pool;  // null: none any more
  int place;                       // -1: what it holds counts nowhere
  std::atomic<uint64_t> charged;   // bytes
  std::atomic<bool> is_exported;   // others may have what is in it
  std::atomic<bool> is_ending;     // the program destroyed it
};

// Places of pools that were destroyed are used again.
struct Pools {
  Mutex adding;
  Mutex ending;
  Mutex settling;  // of what is exported
  std::atomic<uint32_t> count;
  Pool all[1024];
};

// This process's. Null: there is no memory.
Pools* ThePools();
// Null: it is not known.
Pool* PoolFor(CUmemoryPool pool);
// Null: there are too many.
Pool* EnterPool(CUmemoryPool pool, int place);

// False: the driver does not tell; then it is 0.
bool AskPool(CUmemoryPool pool, CUmemPool_attribute attribute, uint64_t* value);
// Counts what the pool holds now, of which `credit` bytes are reserved already. Where nobody tells,
// it is destroyed at this moment, and what it held and what was taken stays; unless that went with
// its context. False: past the limit.
bool SettlePool(Pool* pool, uint64_t credit, bool has_context = true);

}  // namespace tessera::limiter
