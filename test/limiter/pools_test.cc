// SPDX-License-Identifier: Apache-2.0
// Memory that pools hold, compared with what the fake driver gave.
#include <string>
#include <vector>

#include "limiter/log/said_test.h"
#include "limiter/memory_test.h"

namespace tessera::limiter {
namespace {

TEST_F(MemoryTest, APoolIsCountedByWhatItHolds) {
  Run([&] {
    std::vector<CUdeviceptr> all(40);
    size_t had = 0;
    while (had < all.size() && cuMemAllocAsync(&all[had], 100 * kMiB, nullptr) == CUDA_SUCCESS)
      ++had;
    EXPECT_LE(had, 10u);
    EXPECT_GE(had, 9u);
    EXPECT_EQ(Used(0), Resident());
    EXPECT_LE(Resident(), 1024 * kMiB);
    for (size_t i = 0; i < had; ++i) ASSERT_EQ(cuMemFreeAsync(all[i], nullptr), CUDA_SUCCESS);
    // Memory that only the pool holds is given back for other allocations.
    EXPECT_EQ(cuda().As<CUresult(CUstream)>("cuStreamSynchronize")(nullptr), CUDA_SUCCESS);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 1000 * kMiB), CUDA_SUCCESS);
    ExpectTrue(1000);
  });
}

TEST_F(MemoryTest, WhatIsThereOnceThePoolsGaveBackTheirsIsNotSaidToBeRefused) {
  limits_.log_level = 3;
  Run([&] {
    CUdeviceptr pooled = 0, pointer = 0;
    ASSERT_EQ(cuMemAllocAsync(&pooled, 800 * kMiB, nullptr), CUDA_SUCCESS);
    // The pool has room for it, and the rest of the limit has none.
    EXPECT_EQ(Said([&] {
                ASSERT_EQ(cuMemFreeAsync(pooled, nullptr), CUDA_SUCCESS);
                ASSERT_EQ(cuMemAllocAsync(&pooled, 800 * kMiB, nullptr), CUDA_SUCCESS);
                ASSERT_EQ(cuMemFreeAsync(pooled, nullptr), CUDA_SUCCESS);
                ASSERT_EQ(cuda().As<CUresult(CUstream)>("cuStreamSynchronize")(nullptr),
                          CUDA_SUCCESS);
                ASSERT_EQ(cuMemAlloc_v2(&pointer, 800 * kMiB), CUDA_SUCCESS);
              }),
              "");
    EXPECT_EQ(Said([&] { cuMemAllocAsync(&pooled, 800 * kMiB, nullptr); }),
              "denied: 838860800 bytes of " + std::string(kUuid) +
                  "; 838860800 of 1073741824 are held\n");
    EXPECT_EQ(Said([&] { cuMemAlloc_v2(&pointer, 800 * kMiB); }),
              "denied: 838860800 bytes of " + std::string(kUuid) +
                  "; 838860800 of 1073741824 are held\n");
  });
}

TEST_F(MemoryTest, ADevicesOwnPoolIsNotDestroyed) {
  Run([&] {
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(cuda().As<CUresult(CUmemoryPool*, CUdevice)>("cuDeviceGetDefaultMemPool")(&pool, 0),
              CUDA_SUCCESS);
    CUdeviceptr pointer = 0;
    ASSERT_EQ(cuMemAllocFromPoolAsync(&pointer, 100 * kMiB, pool, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    ExpectTrue(100);
    EXPECT_EQ(cuMemAllocFromPoolAsync(&pointer, 100 * kMiB, pool, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), Resident());
  });
}

TEST_F(MemoryTest, APoolOfTheProgramsOwnIsCountedToo) {
  Run([&] {
    const CUmemoryPool pool = NewPool();
    std::vector<CUdeviceptr> all(40);
    size_t had = 0;
    while (had < all.size() &&
           cuMemAllocFromPoolAsync(&all[had], 100 * kMiB, pool, nullptr) == CUDA_SUCCESS) {
      ++had;
    }
    EXPECT_LE(Resident(), 1024 * kMiB);
    EXPECT_EQ(Used(0), Resident());
    EXPECT_GE(had, 9u);
    // The other functions that free are as good.
    for (size_t i = 0; i < had; ++i) ASSERT_EQ(cuMemFree_v2(all[i]), CUDA_SUCCESS);
    ASSERT_EQ(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), Resident());
    ASSERT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
    ExpectTrue(0);
    CUdeviceptr linear = 0;
    ASSERT_EQ(cuMemAlloc_v2(&linear, 100 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeAsync(linear, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 0u);
  });
}

// As with the driver: the call returns at once, and the pool's memory is freed once none of it is
// used.
TEST_F(MemoryTest, APoolThatIsDestroyedBehindFreesGivesItsRoomOnceTheStreamHasReachedThem) {
  Run([&] {
    const CUmemoryPool pool = NewPool();
    const CUstream stream = NewStream();
    CUmemoryPool current = nullptr;
    ASSERT_EQ(cuda().As<decltype(cuDeviceSetMemPool)>("cuDeviceSetMemPool")(0, pool), CUDA_SUCCESS);
    CUdeviceptr pooled = 0, kept = 0, pointer = 0;
    ASSERT_EQ(cuMemAllocAsync(&pooled, 800 * kMiB, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAllocAsync(&kept, 100 * kMiB, stream), CUDA_SUCCESS);
    Spin(stream, 200'000'000);
    ASSERT_EQ(cuMemFreeAsync(pooled, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
    EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemAllocFromPoolAsync(&pointer, 512, pool, stream), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(cuda().As<decltype(cuDeviceGetMemPool)>("cuDeviceGetMemPool")(&current, 0),
              CUDA_SUCCESS);
    EXPECT_NE(current, pool);
    EXPECT_EQ(cuMemAlloc_v2(&pointer, 800 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(900);
    ASSERT_EQ(cuda().As<CUresult(CUstream)>("cuStreamSynchronize")(stream), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc_v2(&pointer, 800 * kMiB), CUDA_SUCCESS);
    ExpectTrue(900);
    ASSERT_EQ(cuMemFreeAsync(kept, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuda().As<CUresult(CUstream)>("cuStreamSynchronize")(stream), CUDA_SUCCESS);
    size_t free = 0, total = 0;
    ASSERT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    EXPECT_EQ(free, 224 * kMiB);
    ExpectTrue(800);
  });
}

}  // namespace
}  // namespace tessera::limiter
