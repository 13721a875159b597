// SPDX-License-Identifier: Apache-2.0
// Pools: what they hold, what is in use of it, and what comes back.
#include "card/probes/helpers.h"
#include "card/probes/steps.h"

namespace tessera::card {
namespace {

CUdeviceptr piece = 0;
CUmemoryPool pool = nullptr;

void SayOfPool(CUmemoryPool of) {
  Say("reserved " + std::to_string(OfPool(of, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)) + ", used " +
      std::to_string(OfPool(of, CU_MEMPOOL_ATTR_USED_MEM_CURRENT)));
}

// From the device's own pool.
template <typename Function>
CUresult TakeOf(uint64_t bytes, Function* function) {
  const CUresult result = function(&piece, bytes, nullptr);
  Synchronize();
  CUmemoryPool own = nullptr;
  if (CU(cuDeviceGetMemPool)(&own, 0) == CUDA_SUCCESS) SayOfPool(own);
  return result;
}
template <typename Function>
void FreeBy(Function* function) {
  if (piece != 0) function(piece, nullptr);
  piece = 0;
  Synchronize();
}

template <typename Function>
CUresult TakeFromPool(uint64_t bytes, Function* function) {
  const CUmemPoolProps wanted = PoolOf(CU_MEM_HANDLE_TYPE_NONE);
  FirstFailure taken;
  taken << CU(cuMemPoolCreate)(&pool, &wanted);
  if (taken.result != CUDA_SUCCESS) return taken.result;
  taken << function(&piece, bytes, pool, nullptr);
  Synchronize();
  SayOfPool(pool);
  return taken.result;
}
void DestroyPool() {
  FreeBy(CU(cuMemFreeAsync));
  if (pool != nullptr) CU(cuMemPoolDestroy)(pool);
  pool = nullptr;
}

constexpr Step kSteps[] = {
    {"cuMemAllocAsync cuMemFreeAsync",
     [](uint64_t bytes) { return TakeOf(bytes, CU(cuMemAllocAsync)); },
     [] { FreeBy(CU(cuMemFreeAsync)); }},
    {"cuMemAllocAsync_ptsz cuMemFreeAsync_ptsz",
     [](uint64_t bytes) { return TakeOf(bytes, CU(cuMemAllocAsync_ptsz)); },
     [] { FreeBy(CU(cuMemFreeAsync_ptsz)); }},
    {"cuMemAllocAsync", [](uint64_t) { return TakeOf(1, CU(cuMemAllocAsync)); },
     [] { FreeBy(CU(cuMemFreeAsync)); }, "one byte"},
    {"cuMemPoolCreate cuMemAllocFromPoolAsync cuMemPoolDestroy",
     [](uint64_t bytes) { return TakeFromPool(bytes, CU(cuMemAllocFromPoolAsync)); }, DestroyPool},
    {"cuMemAllocFromPoolAsync_ptsz",
     [](uint64_t bytes) { return TakeFromPool(bytes, CU(cuMemAllocFromPoolAsync_ptsz)); },
     DestroyPool},
    {"cuMemPoolTrimTo",
     [](uint64_t bytes) {
       const CUmemPoolProps wanted = PoolOf(CU_MEM_HANDLE_TYPE_NONE);
       uint64_t all = UINT64_MAX;
       FirstFailure kept;
       kept << CU(cuMemPoolCreate)(&pool, &wanted);
       if (kept.result != CUDA_SUCCESS) return kept.result;
       kept << CU(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all)
            << CU(cuMemAllocFromPoolAsync)(&piece, bytes, pool, nullptr);
       FreeBy(CU(cuMemFreeAsync));
       SayOfPool(pool);
       return kept.result;
     },
     [] {
       if (pool != nullptr) {
         CU(cuMemPoolTrimTo)(pool, 0);
         SayOfPool(pool);
       }
       DestroyPool();
     },
     "freed, kept, trimmed"},
};

}  // namespace

std::span<const Step> PoolSteps() {
  return kSteps;
}

}  // namespace tessera::card
