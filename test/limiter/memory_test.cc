// SPDX-License-Identifier: Apache-2.0
// Counted memory, compared with what the fake driver gave.
#include "limiter/memory_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace tessera::limiter {
namespace {

TEST_F(MemoryTest, LinearMemoryIsCountedAsTheDriverTakesIt) {
  Run([&] {
    CUdeviceptr large = 0;
    ASSERT_EQ(cuMemAlloc_v2(&large, 5 * kMiB), CUDA_SUCCESS);
    ExpectTrue(6);
    CUdeviceptr small = 0;
    ASSERT_EQ(cuMemAlloc_v2(&small, 1), CUDA_SUCCESS);
    ExpectTrue(8);
    EXPECT_EQ(cuMemFree_v2(small), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree_v2(large), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(MemoryTest, PastTheLimitMemoryIsOutAndNothingElse) {
  Run([&] {
    std::vector<CUdeviceptr> all(40);
    size_t had = 0;
    while (had < all.size() && cuMemAlloc_v2(&all[had], 100 * kMiB) == CUDA_SUCCESS) ++had;
    EXPECT_EQ(had, 10u);
    EXPECT_EQ(cuMemAlloc_v2(&all[had], 100 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(1000);
    EXPECT_EQ(cuMemAlloc_v2(&all[had], 24 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree_v2(all[0]), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc_v2(&all[0], 100 * kMiB), CUDA_SUCCESS);
  });
}

TEST_F(MemoryTest, WhatTheDriverRefusesIsNotCounted) {
  limits_.devices[0].bytes = 0;  // no limit: the card is the limit
  Run([&] {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, uint64_t{1} << 42), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_NE(cuMemAlloc_v2(nullptr, kMiB), CUDA_SUCCESS);
    EXPECT_NE(cuMemAlloc_v2(&pointer, 0), CUDA_SUCCESS);
    EXPECT_NE(cuMemFree_v2(0x1234), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(MemoryTest, ARowsRealLengthIsCounted) {
  Run([&] {
    CUdeviceptr pointer = 0;
    size_t pitch = 0;
    ASSERT_EQ(cuMemAllocPitch_v2(&pointer, &pitch, 1, 40'000, 4), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), Resident());
    EXPECT_GE(Used(0), pitch * 40'000);
    EXPECT_EQ(cuMemAllocPitch_v2(&pointer, &pitch, 1, 4'000'000, 4), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST_F(MemoryTest, ManagedMemoryIsCountedInFull) {
  Run([&] {
    CUdeviceptr pointer = 0;
    ASSERT_EQ(cuMemAllocManaged(&pointer, 1000 * kMiB, 1), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 1000 * kMiB);
    EXPECT_EQ(cuMemAllocManaged(&pointer, 100 * kMiB, 1), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuMemFree_v2(pointer), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(MemoryTest, AHandleMayGoBeforeItsMappingAndTheOtherWayRound) {
  Run([&] {
    const CUmemAllocationProp wanted = PinnedIn(CU_MEM_LOCATION_TYPE_DEVICE);
    const CUdeviceptr address = Addresses(8192 * kMiB);
    uint64_t had = 0;
    CUmemGenericAllocationHandle handle = 0;
    for (; had < 40 && cuMemCreate(&handle, 100 * kMiB, &wanted, 0) == CUDA_SUCCESS; ++had) {
      ASSERT_EQ(cuMemMap(address + had * 100 * kMiB, 100 * kMiB, 0, handle, 0), CUDA_SUCCESS);
      ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    }
    EXPECT_EQ(had, 10u);
    ExpectTrue(1000);
    // Unmaps two at once, then one whose handle the program retained.
    ASSERT_EQ(cuMemUnmap(address, 200 * kMiB), CUDA_SUCCESS);
    ExpectTrue(800);
    ASSERT_EQ(cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(address + 300 * kMiB)),
              CUDA_SUCCESS);
    ASSERT_EQ(cuMemUnmap(address + 300 * kMiB, 100 * kMiB), CUDA_SUCCESS);
    ExpectTrue(800);
    ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
    ExpectTrue(700);
    EXPECT_NE(cuMemRelease(handle), CUDA_SUCCESS);
    ExpectTrue(700);
  });
}

TEST_F(MemoryTest, ArraysAreCounted) {
  Run([&] {
    const CUDA_ARRAY_DESCRIPTOR wanted{
        .Width = 10'000, .Height = 10'000, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    std::vector<CUarray> all(10);
    size_t had = 0;
    while (had < all.size() && cuArrayCreate_v2(&all[had], &wanted) == CUDA_SUCCESS) ++had;
    EXPECT_EQ(had, 2u);
    EXPECT_EQ(Used(0), Resident());
    for (size_t i = 0; i < had; ++i) EXPECT_EQ(cuArrayDestroy(all[i]), CUDA_SUCCESS);
    ExpectTrue(0);
    CUmipmappedArray levels = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR large{.Width = 4096,
                                        .Height = 4096,
                                        .Depth = 0,
                                        .Format = CU_AD_FORMAT_FLOAT,
                                        .NumChannels = 4,
                                        .Flags = 0};
    ASSERT_EQ(cuMipmappedArrayCreate(&levels, &large, 5), CUDA_SUCCESS);
    EXPECT_GE(Used(0), Resident());
    EXPECT_EQ(cuMipmappedArrayDestroy(levels), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(MemoryTest, WhatIsAskedWithoutAPlaceForTheAnswerIsTheDriversToRefuse) {
  Run([&] {
    size_t bytes = 1;
    unsigned few = 1;
    EXPECT_EQ(cuMemGetInfo_v2(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemGetInfo_v2(&bytes, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemGetInfo_v2(nullptr, &bytes), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemGetInfo(&few, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemGetInfo(nullptr, &few), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuDeviceTotalMem_v2(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuDeviceTotalMem(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(bytes, 1u);
    EXPECT_EQ(few, 1u);
  });
}

// The driver frees a killed process's memory 30 ms late. By then it is no longer counted, so an
// allocation must wait for the driver.
TEST_F(MemoryTest, MemoryOfAProcessKilledAMomentAgoIsWaitedFor) {
  limits_.devices[0].bytes = uint64_t{15} << 30;
  node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0,late-ms=30");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t other = node_.Start([&](const fake_cuda::Library& cuda) {
    library_ = &cuda;
    Prepare(cuda);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc_v2(&pointer, uint64_t{10} << 30), CUDA_SUCCESS);
    EXPECT_EQ(write(ready[1], "", 1), 1);
    for (;;) pause();
  });
  Run([&] {
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(Used(0), uint64_t{10} << 30);
    kill(other, SIGKILL);
    CUdeviceptr pointer = 0;
    while (!Reserve(0, uint64_t{10} << 30, Kind::kData)) {
    }
    Release(0, uint64_t{10} << 30, Kind::kData);
    EXPECT_EQ(cuMemAlloc_v2(&pointer, uint64_t{10} << 30), CUDA_SUCCESS);
  });
  waitpid(other, nullptr, 0);
}

TEST_F(MemoryTest, ThreadsThatAllocateAtOnceNeverPassTheLimit) {
  Run([&] {
    std::vector<std::thread> threads;
    CUcontext context = nullptr;
    ASSERT_EQ(cuda().As<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent")(&context), CUDA_SUCCESS);
    for (unsigned i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        cuda().As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context);
        std::vector<CUdeviceptr> held;
        for (unsigned round = 0; round < 2'000; ++round) {
          CUdeviceptr pointer = 0;
          if ((round * 7 + i) % 3 != 0 && cuMemAlloc_v2(&pointer, 40 * kMiB) == CUDA_SUCCESS) {
            held.push_back(pointer);
          } else if (!held.empty()) {
            EXPECT_EQ(cuMemFree_v2(held.back()), CUDA_SUCCESS);
            held.pop_back();
          }
          if (round % 64 == 0) {
            EXPECT_LE(Resident(), 1024 * kMiB);
          }
        }
        for (const CUdeviceptr pointer : held) cuMemFree_v2(pointer);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ExpectTrue(0);
  });
}

}  // namespace
}  // namespace tessera::limiter
