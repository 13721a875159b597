// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/pool_ends.h"

#include "limiter/accounting/accounting.h"
#include "limiter/accounting/cancel.h"
#include "limiter/driver/driver.h"
#include "limiter/driver/relaxed.h"
#include "limiter/memory/devices.h"
#include "limiter/memory/passed.h"
#include "limiter/memory/pools.h"

namespace tessera::limiter {
namespace {

// Calls body(pool, handle) for each pool of a place.
template <typename Body>
void ForEachPool(int place, Body body) {
  Pools* const pools = ThePools();
  const uint32_t count = pools == nullptr ? 0 : pools->count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    Pool& pool = pools->all[i];
    const CUmemoryPool handle = pool.pool.load(std::memory_order_acquire);
    if (handle != nullptr && pool.place == place) body(&pool, handle);
  }
}

// Destroys a pool in the driver and uncounts its memory, unless the driver refuses.
CUresult Destroy(Pool* pool, CUmemoryPool handle) {
  uint64_t held = pool->charged.exchange(0, std::memory_order_acq_rel);
  const CUresult result = TheDriver().cuMemPoolDestroy(handle);
  if (pool->is_exported.load(std::memory_order_acquire)) held -= LendOfPool(pool->place, held);
  Release(pool->place, held, Kind::kData);
  if (result == CUDA_SUCCESS) return result;
  Pool* const again = EnterPool(handle, pool->place);
  if (again != nullptr) SettlePool(again, 0);
  return result;
}

// Threads race for the end; the exchange lets one of them destroy the pool.
void End(Pool* pool, CUmemoryPool handle, CUresult* result) {
  if (pool->pool.compare_exchange_strong(handle, nullptr)) *result = Destroy(pool, handle);
}

// Ends an empty pool. False: it is in use.
bool TryEnd(Pool* pool, CUmemoryPool handle, CUresult* result) {
  uint64_t held = 0;
  if (AskPool(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &held) && held != 0) return false;
  End(pool, handle, result);
  return true;
}

// Null: the driver does not report it.
CUmemoryPool DefaultOf(CUdevice device) {
  CUmemoryPool pool = nullptr;
  const bool is_told = TheDriver().cuDeviceGetDefaultMemPool(&pool, device) == CUDA_SUCCESS;
  return is_told ? pool : nullptr;
}

// A device's default pool, which cannot be destroyed.
bool IsDefault(CUmemoryPool pool) {
  return FindDevice([&](CUdevice device) { return DefaultOf(device) == pool; }) >= 0;
}

// Does what the driver does to a destroyed pool: streams allocate from the default pool again, and
// unused memory is not kept.
void BeginEnd(CUmemoryPool pool) {
  const Driver& driver = TheDriver();
  // At most one device: a device's streams allocate its own memory.
  const CUdevice device = FindDevice([&](CUdevice of) {
    CUmemoryPool current = nullptr;
    return driver.cuDeviceGetMemPool(&current, of) == CUDA_SUCCESS && current == pool;
  });
  const CUmemoryPool other = device < 0 ? nullptr : DefaultOf(device);
  if (other != nullptr) driver.cuDeviceSetMemPool(device, other);
  uint64_t none = 0;
  driver.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none);
}

void Trim(Pool* pool, CUmemoryPool handle) {
  TheDriver().cuMemPoolTrimTo(handle, 0);
  SettlePool(pool, 0);
}

// Another thread may have ended a destroyed pool in between; the lock and the check exclude that.
void TrimAndEnd(Pool* pool, CUmemoryPool handle) {
  if (!pool->is_ending.load(std::memory_order_acquire)) return Trim(pool, handle);
  const Uncancelled uncancelled;
  const Locked lock(&ThePools()->ending);
  if (pool->pool.load(std::memory_order_acquire) != handle) return;
  Trim(pool, handle);
  CUresult ignored = CUDA_SUCCESS;
  if (TryEnd(pool, handle, &ignored)) pools_ending.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

bool TrimPools(int place) {
  bool more = false;
  ForEachPool(place, [&](Pool* pool, CUmemoryPool handle) {
    const uint64_t before = pool->charged.load(std::memory_order_relaxed);
    TrimAndEnd(pool, handle);
    more = more || pool->charged.load(std::memory_order_relaxed) < before;
  });
  return more;
}

void EndPoolsOf(int place) {
  const Relaxed relaxed;
  ForEachPool(place, [](Pool* pool, CUmemoryPool handle) {
    if (pool->is_ending.load(std::memory_order_acquire)) TrimAndEnd(pool, handle);
  });
}

void SettlePools(int place) {
  ForEachPool(place, [](Pool* pool, CUmemoryPool) { SettlePool(pool, 0, false); });
}

}  // namespace tessera::limiter

using namespace tessera::limiter;  // NOLINT: hooks are C's

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
  const CUresult result = TheDriver().cuMemPoolTrimTo(handle, keep);
  Pool* const pool = PoolFor(handle);
  if (pool != nullptr) SettlePool(pool, 0);
  return result;
}

// The driver keeps a destroyed pool until no allocation of it is in use, but no longer reports its
// size. So the pool is destroyed in the driver only once it is empty.
CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  Pool* const pool = PoolFor(handle);
  if (pool == nullptr || IsDefault(handle)) return TheDriver().cuMemPoolDestroy(handle);
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  if (pool->is_ending.load(std::memory_order_acquire)) return result;
  if (pool->place < 0) {
    End(pool, handle, &result);
    return result;
  }
  Trim(pool, handle);
  if (TryEnd(pool, handle, &result)) return result;
  BeginEnd(handle);
  pools_ending.fetch_add(1, std::memory_order_relaxed);
  pool->is_ending.store(true, std::memory_order_release);
  return CUDA_SUCCESS;
}
