// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class MemoryTest : public CudaTest {};

TEST_F(MemoryTest, SmallBlocksShareAChunkAndLargeOnesHaveTheirOwn) {
  OnGpu([](const Gpu& cuda) {
    const CUdeviceptr small = cuda.Allocate(1);
    const CUdeviceptr next = cuda.Allocate(513);
    const CUdeviceptr last = cuda.Allocate(1);
    EXPECT_EQ(next - small, 512U);
    EXPECT_EQ(last - next, 1024U);
    EXPECT_EQ(cuda.Resident(), 2U);
    const CUdeviceptr large = cuda.Allocate(3 * kMiB);
    EXPECT_EQ(cuda.Resident(), 6U);
    for (const CUdeviceptr address : {small, next, last, large}) {
      EXPECT_EQ(cuda.Free(address), CUDA_SUCCESS);
    }
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(MemoryTest, OneMoreThanTheCardHasIsRefusedAndCountsNothing) {
  OnGpu([](const Gpu& cuda) {
    cuda.Allocate(15360 * kMiB - 2 * kMiB);
    cuda.Allocate(4 * kMiB, CUDA_ERROR_OUT_OF_MEMORY);
    cuda.Allocate(UINT64_MAX, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuda.Resident(), 15358U);
    cuda.Allocate(2 * kMiB);
    cuda.Allocate(1, CUDA_ERROR_OUT_OF_MEMORY);
    size_t free = 1;
    size_t total = 0;
    EXPECT_EQ(CALL(cuMemGetInfo_v2)(&free, &total), CUDA_SUCCESS);
    EXPECT_EQ(free, 0U);
    EXPECT_EQ(total, 15360 * kMiB);
    unsigned free32 = 1;
    unsigned total32 = 0;
    EXPECT_EQ(CALL(cuMemGetInfo)(&free32, &total32), CUDA_SUCCESS);
    EXPECT_EQ(free32, 0U);
    EXPECT_EQ(total32, UINT32_MAX);
  });
}

TEST_F(MemoryTest, WhatIsNoBlockIsNotFreed) {
  OnGpu([](const Gpu& cuda) {
    const CUdeviceptr address = cuda.Allocate(4 * kMiB);
    EXPECT_EQ(cuda.Free(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Free(address + 512), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.Free(12345), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.Free(address), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Free(address), CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr out = 0;
    EXPECT_EQ(CALL(cuMemAlloc_v2)(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuMemAlloc_v2)(&out, 0), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(MemoryTest, RowsOfAPitchAreWholeUnits) {
  OnGpu([](const Gpu& cuda) {
    CUdeviceptr address = 0;
    size_t pitch = 0;
    size_t bytes = 0;
    EXPECT_EQ(CALL(cuMemAllocPitch_v2)(&address, &pitch, 1000, 4096, 4), CUDA_SUCCESS);
    EXPECT_EQ(pitch, 1024U);
    EXPECT_EQ(CALL(cuMemGetAddressRange_v2)(nullptr, &bytes, address + 5000), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 4 * kMiB);
    EXPECT_EQ(cuda.Resident(), 4U);
    EXPECT_EQ(CALL(cuMemAllocPitch_v2)(&address, &pitch, 1000, 4096, 5), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(MemoryTest, ManagedMemoryIsTheHostsToTouchAndTakesOfTheCardWhatFits) {
  OnGpu([](const Gpu& cuda) {
    cuda.Allocate(15000 * kMiB);
    CUdeviceptr address = 0;
    EXPECT_EQ(CALL(cuMemAllocManaged)(&address, 1000 * kMiB, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 15360U);
    *reinterpret_cast<int*>(address) = 5;
    bool managed = false;
    EXPECT_EQ(CALL(cuPointerGetAttribute)(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address + 9),
              CUDA_SUCCESS);
    EXPECT_TRUE(managed);
    EXPECT_EQ(cuda.Free(address), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 15000U);
  });
}

TEST_F(MemoryTest, MemoryOfTheHostIsNotTheCards) {
  OnGpu([](const Gpu& cuda) {
    void* host = nullptr;
    EXPECT_EQ(cuda.As<CUresult(void**, size_t, unsigned)>("cuMemHostAlloc")(&host, 64 * kMiB, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
    auto* free_host = cuda.As<CUresult(void*)>("cuMemFreeHost");
    EXPECT_EQ(free_host(host), CUDA_SUCCESS);
    EXPECT_EQ(free_host(host), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(MemoryTest, AddressesAreUniqueThroughManyAllocationsOfManySizes) {
  OnGpu([](const Gpu& cuda) {
    std::map<CUdeviceptr, uint64_t> live;
    uint64_t random = 1;
    for (int i = 0; i < 20'000; ++i) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      if (random >> 63 != 0 && !live.empty()) {
        auto victim = live.lower_bound(live.begin()->first + (random >> 20) % (64 * kMiB));
        if (victim == live.end()) victim = live.begin();
        ASSERT_EQ(cuda.Free(victim->first), CUDA_SUCCESS);
        live.erase(victim);
        continue;
      }
      const uint64_t bytes = (random >> 33) % 300'000 + 1;
      const CUdeviceptr address = cuda.Allocate(bytes);
      const auto next = live.lower_bound(address);
      if (next != live.end()) {
        ASSERT_GE(next->first, address + bytes);
      }
      if (next != live.begin()) {
        ASSERT_LE(std::prev(next)->first + std::prev(next)->second, address);
      }
      live[address] = bytes;
    }
    for (const auto& [address, bytes] : live) EXPECT_EQ(cuda.Free(address), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(MemoryTest, ThreadsAllocateAndFreeWithoutLosingAnything) {
  OnGpu([](const Gpu& cuda) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        EXPECT_EQ(CALL(cuCtxSetCurrent)(cuda.context), CUDA_SUCCESS);
        for (uint64_t i = 1; i < 5000; ++i) cuda.Free(cuda.Allocate(i * 700));
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(MemoryTest, AnotherProcessOpensABlockAndTheCardHasItOnceAndUntilItIsClosed) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  int done[2];
  ASSERT_EQ(pipe(done), 0);
  const pid_t owner = node_.Start([&](const Library& library) {
    const Gpu cuda(library);
    CUipcMemHandle handle;
    const CUdeviceptr block = cuda.Allocate(8 * kMiB);
    EXPECT_EQ(CALL(cuIpcGetMemHandle)(&handle, block), CUDA_SUCCESS);
    EXPECT_EQ(write(pipe_ends[1], &handle, sizeof handle), ssize_t{sizeof handle});
    char byte = 0;
    EXPECT_EQ(read(done[0], &byte, 1), 1);
    EXPECT_EQ(cuda.Free(block), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
    EXPECT_EQ(cuda.ResidentOf(0), 8U);
    EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
    End();
  });
  OnGpu([&](const Gpu& cuda) {
    CUipcMemHandle handle;
    EXPECT_EQ(read(pipe_ends[0], &handle, sizeof handle), ssize_t{sizeof handle});
    CUdeviceptr address = 0, again = 0;
    EXPECT_EQ(CALL(cuIpcOpenMemHandle_v2)(&address, handle, 1), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuIpcOpenMemHandle_v2)(&again, handle, 1), CUDA_SUCCESS);
    EXPECT_EQ(again, address);
    EXPECT_EQ(cuda.ResidentOf(0), 8U);
    EXPECT_EQ(cuda.Resident(), 0U);
    EXPECT_EQ(cuda.Free(address), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(write(done[1], "x", 1), 1);
    char byte = 0;
    EXPECT_EQ(read(pipe_ends[0], &byte, 1), 1);
    EXPECT_EQ(CALL(cuIpcCloseMemHandle)(address), CUDA_SUCCESS);
    EXPECT_EQ(cuda.ResidentOf(0), 8U);
    EXPECT_EQ(CALL(cuIpcCloseMemHandle)(address), CUDA_SUCCESS);
    EXPECT_EQ(cuda.ResidentOf(0), 0U);
    EXPECT_EQ(CALL(cuIpcCloseMemHandle)(address), CUDA_ERROR_INVALID_VALUE);
  });
  int status = 1;
  EXPECT_EQ(waitpid(owner, &status, 0), owner);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tessera::fake_cuda
