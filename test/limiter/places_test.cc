// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU that is not the current context's.
#include "limiter/memory_test.h"

#include <unistd.h>

#include <atomic>
#include <thread>

namespace tessera::limiter {
namespace {

constexpr char kFirstUuid[] = "GPU-dbca3343-a2b9-4eec-a334-6a67dc541af0";
constexpr char kSecondUuid[] = "GPU-c018374b-45c1-4082-aaf7-5ab675f5bb33";

class PlacesTest : public MemoryTest {
 protected:
  PlacesTest() : MemoryTest("8xv100") {
    node_.Set("CUDA_VISIBLE_DEVICES", "0,1");
    limits_.count = 2;
    limits_.devices[1].bytes = 1024 * kMiB;
  }

  // Runs the body with the first GPU's context current; of_second_ is a stream of the second.
  template <typename Body>
  void RunOnFirst(Body body) {
    Run([&] {
      CUcontext contexts[2] = {};
      const auto set = cuda().As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent");
      for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(cuCtxCreate_v2(&contexts[i], 0, i), CUDA_SUCCESS);
      }
      ASSERT_EQ(set(contexts[1]), CUDA_SUCCESS);
      of_second_ = NewStream();
      ASSERT_EQ(set(contexts[0]), CUDA_SUCCESS);
      body();
    });
  }
  static CUmemoryPool NewPoolOf(const CUmemLocation& where,
                                CUmemAllocationType kind = CU_MEM_ALLOCATION_TYPE_PINNED) {
    CUmemPoolProps wanted{};
    wanted.allocType = kind;
    wanted.location = where;
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(cuMemPoolCreate(&pool, &wanted), CUDA_SUCCESS);
    return pool;
  }
  void Fill(int place, uint64_t mib) { ASSERT_TRUE(TryReserve(place, mib * kMiB, Kind::kData)); }
  void ExpectHeld(uint64_t first_mib, uint64_t second_mib) {
    EXPECT_EQ(Used(0), first_mib * kMiB);
    EXPECT_EQ(Used(1), second_mib * kMiB);
  }
  uint64_t ResidentOn(const char* uuid) {
    return library_->As<uint64_t(const char*, pid_t)>("fakecuda_resident")(uuid, getpid());
  }

  CUstream of_second_ = nullptr;
};

TEST_F(PlacesTest, WhatIsAllocatedInAStreamIsOfTheStreamsGpu) {
  for (const auto& allocate : {cuMemAllocAsync, cuMemAllocAsync_ptsz}) {
    RunOnFirst([&] {
      Fill(0, 1024);
      CUdeviceptr pointer = 0;
      EXPECT_EQ(allocate(&pointer, 600 * kMiB, of_second_), CUDA_SUCCESS);
      EXPECT_EQ(allocate(&pointer, 600 * kMiB, of_second_), CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(allocate(&pointer, kMiB, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
      ExpectHeld(1024, 600);
      EXPECT_EQ(ResidentOn(kSecondUuid), 600 * kMiB);
    });
  }
}

TEST_F(PlacesTest, RoomOnTheCurrentGpuIsNoneInAStreamOfAnother) {
  RunOnFirst([&] {
    Fill(1, 1024);
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAllocAsync(&pointer, kMiB, of_second_), CUDA_ERROR_OUT_OF_MEMORY);
    ExpectHeld(0, 1024);
    EXPECT_EQ(ResidentOn(kSecondUuid), 0u);
  });
}

// In whichever stream it is allocated.
TEST_F(PlacesTest, WhatIsAllocatedFromAPoolIsOfThePoolsGpu) {
  for (const auto& allocate : {cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz}) {
    RunOnFirst([&] {
      Fill(0, 1024);
      const CUmemoryPool pool = NewPoolOf({CU_MEM_LOCATION_TYPE_DEVICE, 1});
      CUdeviceptr pointer = 0;
      EXPECT_EQ(allocate(&pointer, 600 * kMiB, pool, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(allocate(&pointer, 600 * kMiB, pool, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
      ExpectHeld(1024, 600);
      EXPECT_EQ(ResidentOn(kSecondUuid), 600 * kMiB);
    });
  }
}

class HostPoolsTest : public PlacesTest {
 protected:
  // Allocations from the pool are counted for no GPU.
  void ExpectUncounted(CUmemoryPool pool) {
    for (const auto& allocate : {cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz}) {
      CUdeviceptr pointer = 0;
      EXPECT_EQ(allocate(&pointer, 600 * kMiB, pool, nullptr), CUDA_SUCCESS);
      ExpectHeld(1024, 0);
      EXPECT_EQ(cuMemFreeAsync(pointer, nullptr), CUDA_SUCCESS);
    }
    EXPECT_EQ(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    ExpectHeld(1024, 0);
  }
};

TEST_F(HostPoolsTest, APoolOfHostMemoryGivesItThoughTheGpuIsFull) {
  RunOnFirst([&] {
    Fill(0, 1024);
    const CUmemoryPool pool = NewPoolOf({CU_MEM_LOCATION_TYPE_HOST, 0});
    ExpectUncounted(pool);
    CUdeviceptr pointer = 0;
    ASSERT_EQ(cuMemAllocFromPoolAsync(&pointer, kMiB, pool, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
    EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemFreeAsync(pointer, nullptr), CUDA_SUCCESS);
    ExpectHeld(1024, 0);
  });
}

TEST_F(HostPoolsTest, SoDoesTheOneThatThereAlwaysIsFromCuda13On) {
  node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0,cuda=13000");
  RunOnFirst([&] {
    Fill(0, 1024);
    CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, 0};
    CUmemoryPool pool = nullptr;
    ASSERT_EQ(cuda().As<decltype(cuMemGetDefaultMemPool)>("cuMemGetDefaultMemPool")(
                  &pool, &host, CU_MEM_ALLOCATION_TYPE_PINNED),
              CUDA_SUCCESS);
    ExpectUncounted(pool);
  });
}

// A GPU that the file does not name has no limit to count against.
TEST_F(HostPoolsTest, APoolOfAGpuThatTheLimitsFileDoesNotNameIsNotCounted) {
  limits_.count = 1;
  RunOnFirst([&] {
    Fill(0, 1024);
    const CUmemoryPool pool = NewPoolOf({CU_MEM_LOCATION_TYPE_DEVICE, 1});
    ExpectUncounted(pool);
  });
}

// Managed memory moves to the GPU that uses it, wherever the pool was asked to be.
TEST_F(HostPoolsTest, APoolOfManagedMemoryIsCountedOnTheGpuOfItsStream) {
  node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0,cuda=13000");
  for (const CUmemLocationType where : {CUmemLocationType{}, CU_MEM_LOCATION_TYPE_HOST}) {
    RunOnFirst([&] {
      const CUmemoryPool pool = NewPoolOf({where, 0}, CU_MEM_ALLOCATION_TYPE_MANAGED);
      CUdeviceptr pointer = 0;
      EXPECT_EQ(cuMemAllocFromPoolAsync(&pointer, 600 * kMiB, pool, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(cuMemAllocFromPoolAsync(&pointer, 600 * kMiB, pool, nullptr),
                CUDA_ERROR_OUT_OF_MEMORY);
      ExpectHeld(600, 0);
    });
  }
}

// Race: another thread changes the location while the driver reads it. A second read by the limiter
// could see another one.
TEST_F(HostPoolsTest, WhereAPoolIsIsReadOnce) {
  RunOnFirst([&] {
    CUmemPoolProps wanted{};
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    std::atomic<bool> is_over = false;
    std::thread other([&] {
      std::atomic_ref<CUmemLocationType> type(wanted.location.type);
      while (!is_over) {
        type = CU_MEM_LOCATION_TYPE_HOST;
        type = CU_MEM_LOCATION_TYPE_DEVICE;
      }
    });
    for (int i = 0; i < 500; ++i) {
      CUmemoryPool pool = nullptr;
      CUdeviceptr pointer = 0;
      ASSERT_EQ(cuMemPoolCreate(&pool, &wanted), CUDA_SUCCESS);
      ASSERT_EQ(cuMemAllocFromPoolAsync(&pointer, kMiB, pool, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(Used(0), ResidentOn(kFirstUuid));
      ASSERT_EQ(cuMemFree_v2(pointer), CUDA_SUCCESS);
      ASSERT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
    }
    is_over = true;
    other.join();
  });
}

}  // namespace
}  // namespace tessera::limiter
