// SPDX-License-Identifier: Apache-2.0
#include "limiter/memory/pools.h"

#include "limiter/accounting/process_memory.h"
#include "limiter/memory/charge.h"
#include "limiter/memory/growth.h"
#include "limiter/memory/opened.h"
#include "limiter/time/stream.h"

namespace tessera::limiter {

Pools* ThePools() {
  static constinit ProcessMemory<Pools> pools;
  return pools.Get();
}

Pool* PoolFor(CUmemoryPool pool) {
  Pools* const pools = ThePools();
  if (pools == nullptr || pool == nullptr) return nullptr;
  const uint32_t count = pools->count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    if (pools->all[i].pool.load(std::memory_order_acquire) == pool) return &pools->all[i];
  }
  return nullptr;
}

Pool* EnterPool(CUmemoryPool pool, int place) {
  Pools* const pools = ThePools();
  if (pools == nullptr) return nullptr;
  const Locked lock(&pools->adding);
  if (Pool* const known = PoolFor(pool); known != nullptr) return known;
  const uint32_t count = pools->count.load(std::memory_order_relaxed);
  uint32_t at = 0;
  while (at < count && pools->all[at].pool.load(std::memory_order_relaxed) != nullptr) ++at;
  if (at == sizeof(pools->all) / sizeof(pools->all[0])) return nullptr;
  Pool& entered = pools->all[at];
  entered.place = place;
  entered.charged.store(0, std::memory_order_relaxed);
  entered.is_exported.store(false, std::memory_order_relaxed);
  entered.is_ending.store(false, std::memory_order_relaxed);
  entered.pool.store(pool, std::memory_order_release);
  if (at == count) pools->count.store(count + 1, std::memory_order_release);
  return &entered;
}

bool AskPool(CUmemoryPool pool, CUmemPool_attribute attribute, uint64_t* value) {
  *value = 0;
  return TheDriver().cuMemPoolGetAttribute(pool, attribute, value) == CUDA_SUCCESS;
}

bool SettlePool(Pool* pool, uint64_t credit, bool has_context) {
  if (pool->place < 0) return true;
  const CUmemoryPool handle = pool->pool.load(std::memory_order_acquire);
  const auto held = [&] {
    uint64_t bytes = 0;
    if (AskPool(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes) || !has_context) return bytes;
    return pool->charged.load(std::memory_order_relaxed) + credit;
  };
  const bool is_exported = pool->is_exported.load(std::memory_order_acquire);
  if (!is_exported) [[likely]]
    return SettleGrowth(&pool->charged, pool->place, credit, held);
  const Uncancelled uncancelled;
  const Locked lock(&ThePools()->settling);
  const uint64_t before = pool->charged.load(std::memory_order_acquire);
  const uint64_t now = held();
  if (now < before) pool->charged.fetch_sub(LendOfPool(pool->place, before - now));
  const bool within = SettleGrowth(&pool->charged, pool->place, credit, held);
  if (now > before) NoteExported(pool->place, now - before);
  return within;
}

namespace {

CUmemoryPool PoolOfPointer(CUdeviceptr pointer) {
  CUmemoryPool pool = nullptr;
  const auto attribute = CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
  const bool known = TheDriver().cuPointerGetAttribute(&pool, attribute, pointer) == CUDA_SUCCESS;
  return known ? pool : nullptr;
}

// True if the pool may have the memory already. That is tried once: after a failed try the
// container is past its limit until the driver has given back what it took instead.
bool HasRoom(const Pool* pool, uint64_t bytes) {
  if (pool == nullptr || Used(pool->place) > Limit(pool->place)) return false;
  const CUmemoryPool handle = pool->pool.load(std::memory_order_acquire);
  uint64_t used = 0;
  return AskPool(handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) &&
         pool->charged.load(std::memory_order_relaxed) >= used + bytes;
}

// The id of the stream's capture, which is never used again; 0: none.
uint64_t CaptureOf(const Stream& stream) {
  const Driver& driver = TheDriver();
  const auto ask =
      stream.per_thread ? driver.cuStreamGetCaptureInfo_ptsz : driver.cuStreamGetCaptureInfo;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  const bool is_known = ask(stream.handle, &status, &id) == CUDA_SUCCESS;
  return is_known && status != CU_STREAM_CAPTURE_STATUS_NONE ? id : 0;
}

// Managed memory need not be on a device yet.
bool IsManaged(CUdeviceptr pointer) {
  int is_managed = 0;
  return TheDriver().cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer) ==
             CUDA_SUCCESS &&
         is_managed != 0;
}

// Counts an allocation from some pool, for which `credit` bytes of a place are reserved.
template <typename Undo>
CUresult CountTaken(CUdeviceptr pointer, uint64_t bytes, int place, uint64_t credit, Undo undo) {
  const CUmemoryPool handle = PoolOfPointer(pointer);
  Pool* pool = PoolFor(handle);
  int real = pool != nullptr ? pool->place : handle != nullptr ? PlaceOfPointer(pointer) : -1;
  if (real < 0 && pool == nullptr && IsManaged(pointer)) real = place;
  if (real != place) {
    Release(place, credit, Kind::kData);
    credit = 0;
  }
  if (real < 0) return CUDA_SUCCESS;
  if (pool == nullptr) pool = EnterPool(handle, real);
  if (pool != nullptr && SettlePool(pool, credit)) return CUDA_SUCCESS;
  undo();
  if (pool == nullptr) {
    Release(real, credit, Kind::kData);
  } else {
    TrimPools(real);
  }
  Refuse(real, bytes);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

// A captured allocation is made when the graph runs (graphs.h), unless another thread ended the
// capture in between.
template <typename Call>
CUresult AllocateInCapture(const Stream& stream, const CUdeviceptr* out, uint64_t bytes, int place,
                           Call call) {
  const uint64_t capture = CaptureOf(stream);
  const CUresult result = call();
  const bool is_captured = capture != 0 && CaptureOf(stream) == capture;
  if (result != CUDA_SUCCESS || is_captured) return result;
  // Not in stream order: the stream may be captured again.
  const auto undo = [out] {
    const Relaxed relaxed;
    return TheDriver().cuMemFree_v2(*out);
  };
  return CountTaken(*out, bytes, place, 0, undo);
}

// A stream's device, which need not be the current context's. -1: the driver reports neither.
CUdevice DeviceOfStream(const Stream& stream) {
  const StreamContext context(stream);
  CUdevice device = -1;
  return TheDriver().cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

// No driver before CUDA 13 reports the location of default pools, and for managed memory it says
// little.
void NotePool(CUmemoryPool pool, const CUmemPoolProps& wanted) {
  if (wanted.allocType == CU_MEM_ALLOCATION_TYPE_PINNED) {
    EnterPool(pool, PlaceOfLocation(wanted.location));
  }
}

// The program did not make this pool, so it is a default one. CUDA 13 has default pools of host
// memory. Managed memory moves, whatever its location.
bool IsOfHost(CUmemoryPool pool) {
  uint64_t kind = 0, where = 0;
  return AskPool(pool, CU_MEMPOOL_ATTR_ALLOCATION_TYPE, &kind) &&
         kind == CU_MEM_ALLOCATION_TYPE_PINNED &&
         AskPool(pool, CU_MEMPOOL_ATTR_LOCATION_TYPE, &where) &&
         where != CU_MEM_LOCATION_TYPE_DEVICE &&
         where != CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN;
}

// `handle` null: the current pool of the stream's device.
template <typename Call, typename Undo>
CUresult AllocateFrom(CUmemoryPool handle, const Stream& stream, CUdeviceptr* out, uint64_t bytes,
                      Call call, Undo undo) {
  Pool* pool = PoolFor(handle);
  const bool takes_some = out != nullptr && bytes != 0;
  if (takes_some && pool == nullptr && handle != nullptr && IsOfHost(handle)) return call();
  const CUdevice device = takes_some && pool == nullptr ? DeviceOfStream(stream) : -1;
  const int place = !takes_some ? -1 : pool != nullptr ? pool->place : PlaceOfDevice(device);
  if (place < 0) return call();
  if (pool != nullptr && pool->is_ending.load(std::memory_order_acquire)) [[unlikely]]
    return CUDA_ERROR_INVALID_VALUE;
  EndPools(place);
  if (IsCaptured(stream)) return AllocateInCapture(stream, out, bytes, place, call);
  if (pool == nullptr && handle == nullptr) {
    if (TheDriver().cuDeviceGetMemPool(&handle, device) == CUDA_SUCCESS) pool = PoolFor(handle);
  }
  uint64_t credit = RoundUp(bytes, 512);
  if (!TryReserveOrTrim(place, credit, Kind::kData)) {
    if (!HasRoom(pool, credit)) {
      Refuse(place, credit);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    credit = 0;
  }
  const CUresult result = Patiently(call);
  if (result == CUDA_SUCCESS) return CountTaken(*out, bytes, place, credit, undo);
  Release(place, credit, Kind::kData);
  return result;
}

}  // namespace

}  // namespace tessera::limiter

using namespace tessera::limiter;  // NOLINT: hooks are C's

#define ALLOCATE_ASYNC(suffix)                                                                   \
  CUresult cuMemAllocAsync##suffix(CUdeviceptr* answer, size_t bytes, CUstream stream) {         \
    const Driver& driver = TheDriver();                                                          \
    return Answered(answer, [&](CUdeviceptr* out) {                                              \
      return AllocateFrom(                                                                       \
          nullptr, {stream, sizeof #suffix > 1}, out, bytes,                                     \
          [&] { return driver.cuMemAllocAsync##suffix(out, bytes, stream); },                    \
          [&] { return driver.cuMemFreeAsync##suffix(*out, stream); });                          \
    });                                                                                          \
  }                                                                                              \
  CUresult cuMemAllocFromPoolAsync##suffix(CUdeviceptr* answer, size_t bytes, CUmemoryPool pool, \
                                           CUstream stream) {                                    \
    const Driver& driver = TheDriver();                                                          \
    return Answered(answer, [&](CUdeviceptr* out) {                                              \
      return AllocateFrom(                                                                       \
          pool, {stream, sizeof #suffix > 1}, out, bytes,                                        \
          [&] { return driver.cuMemAllocFromPoolAsync##suffix(out, bytes, pool, stream); },      \
          [&] { return driver.cuMemFreeAsync##suffix(*out, stream); });                          \
    });                                                                                          \
  }                                                                                              \
  /* Of a pool, or linear after all: either way the driver knows. */                             \
  CUresult cuMemFreeAsync##suffix(CUdeviceptr pointer, CUstream stream) {                        \
    return FreeLinear(pointer,                                                                   \
                      [&] { return TheDriver().cuMemFreeAsync##suffix(pointer, stream); });      \
  }
ALLOCATE_ASYNC()
ALLOCATE_ASYNC(_ptsz)

// The driver gets a copy: another thread may change the original.
CUresult cuMemPoolCreate(CUmemoryPool* answer, const CUmemPoolProps* wanted) {
  if (wanted == nullptr) return TheDriver().cuMemPoolCreate(answer, wanted);
  const CUmemPoolProps own = *wanted;
  return Answered(answer, [&](CUmemoryPool* out) {
    const CUresult result = TheDriver().cuMemPoolCreate(out, &own);
    if (result == CUDA_SUCCESS) NotePool(*out, own);
    return result;
  });
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* out, CUdeviceptr pointer) {
  Pool* const pool = PoolFor(PoolOfPointer(pointer));
  if (pool != nullptr && !pool->is_exported.exchange(true, std::memory_order_acq_rel)) {
    NoteExported(pool->place, pool->charged.load(std::memory_order_relaxed));
  }
  return TheDriver().cuMemPoolExportPointer(out, pointer);
}

CUresult cuMemPoolImportPointer(CUdeviceptr* answer, CUmemoryPool pool,
                                CUmemPoolPtrExportData* data) {
  return Answered(answer, [&](CUdeviceptr* out) {
    const ImportScope importing;
    const CUresult result = TheDriver().cuMemPoolImportPointer(out, pool, data);
    if (result != CUDA_SUCCESS || out == nullptr) return result;
    return CountOpened(*out, kUnit, [out] { return TheDriver().cuMemFree_v2(*out); });
  });
}
