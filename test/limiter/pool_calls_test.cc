// SPDX-License-Identifier: Apache-2.0
// The functions that allocate and free in a stream's order. Each also has a variant for programs
// with a default stream for each thread.
#include <functional>

#include "limiter/memory_test.h"

namespace tessera::limiter {
namespace {

class PoolCallsTest : public MemoryTest {
 protected:
  using Allocate = std::function<CUresult(CUdeviceptr*, uint64_t)>;
  using Free = CUresult (*)(CUdeviceptr, CUstream);

  void ExpectAllocated(const Allocate& allocate, Free free) {
    CUdeviceptr pointer = 0, other = 0;
    EXPECT_EQ(allocate(&pointer, 600 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(allocate(&other, 600 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(600);
    EXPECT_EQ(free(pointer, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc_v2(&other, 1000 * kMiB), CUDA_SUCCESS) << "the pool's is unused";
    ExpectTrue(1000);
    EXPECT_EQ(free(other, nullptr), CUDA_SUCCESS) << "which was never a pool's";
    ExpectTrue(0);
  }
};

TEST_F(PoolCallsTest, WhatIsAllocatedInAStreamsOrderIsCountedUntilItIsFreedInOne) {
  Run([&] {
    const CUmemoryPool pool = NewPool();
    const Allocate ways[] = {
        [](CUdeviceptr* out, uint64_t bytes) { return cuMemAllocAsync(out, bytes, nullptr); },
        [](CUdeviceptr* out, uint64_t bytes) { return cuMemAllocAsync_ptsz(out, bytes, nullptr); },
        [pool](CUdeviceptr* out, uint64_t bytes) {
          return cuMemAllocFromPoolAsync(out, bytes, pool, nullptr);
        },
        [pool](CUdeviceptr* out, uint64_t bytes) {
          return cuMemAllocFromPoolAsync_ptsz(out, bytes, pool, nullptr);
        },
    };
    for (const Allocate& allocate : ways) {
      for (const Free free : {cuMemFreeAsync, cuMemFreeAsync_ptsz}) {
        SCOPED_TRACE(testing::Message() << (&allocate - ways) << (free == cuMemFreeAsync));
        ExpectAllocated(allocate, free);
      }
    }
  });
}

}  // namespace
}  // namespace tessera::limiter
