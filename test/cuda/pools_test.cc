// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class PoolsTest : public CudaTest {
 protected:
  static uint64_t Number(const Library& cuda, CUmemoryPool pool, CUmemPool_attribute attribute) {
    uint64_t number = 0;
    EXPECT_EQ(CALL(cuMemPoolGetAttribute)(pool, attribute, &number), CUDA_SUCCESS);
    return number / kMiB;
  }
  static CUmemoryPool DefaultOf(const Library& cuda) {
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(CALL(cuDeviceGetDefaultMemPool)(&pool, 0), CUDA_SUCCESS);
    return pool;
  }
  static CUmemoryPool NewPool(const Library& cuda, CUmemLocationType where, uint64_t most = 0) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {where, 0};
    properties.maxSize = most;
    CUmemoryPool pool = nullptr;
    EXPECT_EQ(CALL(cuMemPoolCreate)(&pool, &properties), CUDA_SUCCESS);
    return pool;
  }
  static CUdeviceptr AllocateIn(const Library& cuda, CUmemoryPool pool, uint64_t bytes,
                                CUstream stream = nullptr) {
    CUdeviceptr address = 0;
    EXPECT_EQ(CALL(cuMemAllocFromPoolAsync)(&address, bytes, pool, stream), CUDA_SUCCESS);
    return address;
  }
};

TEST_F(PoolsTest, APoolTakesSegmentsAndCountsWhatIsUsedOfThem) {
  OnGpu([](const Gpu& cuda) {
    const CUmemoryPool pool = DefaultOf(cuda);
    CUdeviceptr address = 0;
    EXPECT_EQ(CALL(cuMemAllocAsync)(&address, 3 * kMiB, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(Number(cuda, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 32U);
    EXPECT_EQ(Number(cuda, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 3U);
    EXPECT_EQ(cuda.Resident(), 32U);
    AllocateIn(cuda, pool, 100 * kMiB);
    EXPECT_EQ(Number(cuda, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 132U);
    EXPECT_EQ(Number(cuda, pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 103U);
    EXPECT_EQ(cuda.Resident(), 132U);
  });
}

TEST_F(PoolsTest, WhatIsUnusedGoesBackWhenSomethingIsWaitedForAndNotBefore) {
  OnGpu([](const Gpu& cuda) {
    const CUmemoryPool pool = DefaultOf(cuda);
    const CUdeviceptr address = AllocateIn(cuda, pool, 100 * kMiB);
    EXPECT_EQ(CALL(cuMemFreeAsync)(address, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 100U);
    EXPECT_EQ(Number(cuda, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0U);
    EXPECT_EQ(CALL(cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(PoolsTest, APoolKeepsAsMuchAsItsThresholdSaysUntilItIsTrimmed) {
  OnGpu([](const Gpu& cuda) {
    const CUmemoryPool pool = DefaultOf(cuda);
    uint64_t threshold = 64 * kMiB;
    EXPECT_EQ(CALL(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
              CUDA_SUCCESS);
    CUdeviceptr addresses[3];
    for (CUdeviceptr& address : addresses) address = AllocateIn(cuda, pool, 40 * kMiB);
    for (const CUdeviceptr address : addresses) {
      EXPECT_EQ(CALL(cuMemFreeAsync)(address, nullptr), CUDA_SUCCESS);
    }
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 40U);
    EXPECT_EQ(CALL(cuMemPoolTrimTo)(pool, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(PoolsTest, WhatAStreamFreedIsItsOwnAtOnceAndAnothersOnceTheStreamIsThere) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    const CUmemoryPool pool = DefaultOf(cuda);
    const CUstream one = cuda.NewStream();
    const CUstream other = cuda.NewStream();
    const CUdeviceptr address = AllocateIn(cuda, pool, 32 * kMiB, one);
    EXPECT_EQ(cuda.Launch(spin, 200'000'000, one), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemFreeAsync)(address, one), CUDA_SUCCESS);
    const CUdeviceptr others = AllocateIn(cuda, pool, 32 * kMiB, other);
    EXPECT_NE(others, address);
    EXPECT_EQ(AllocateIn(cuda, pool, 32 * kMiB, one), address);
    EXPECT_EQ(CALL(cuMemFreeAsync)(address, one), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventQuery)(nullptr), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(CALL(cuStreamSynchronize)(one), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 32U);
  });
}

TEST_F(PoolsTest, EitherFreeTakesWhatEitherAllocationGave) {
  OnGpu([](const Gpu& cuda) {
    const CUdeviceptr pooled = AllocateIn(cuda, DefaultOf(cuda), 32 * kMiB);
    const CUdeviceptr block = cuda.Allocate(32 * kMiB);
    EXPECT_EQ(cuda.Free(pooled), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemFreeAsync)(block, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemFreeAsync)(block, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.Free(pooled), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(PoolsTest, APoolOfTheProgramsIsUsedUntilItIsDestroyedAndEmpty) {
  OnGpu([](const Gpu& cuda) {
    const CUmemoryPool pool = NewPool(cuda, CU_MEM_LOCATION_TYPE_DEVICE);
    EXPECT_EQ(CALL(cuDeviceSetMemPool)(0, pool), CUDA_SUCCESS);
    CUdeviceptr address = 0;
    EXPECT_EQ(CALL(cuMemAllocAsync)(&address, kMiB, nullptr), CUDA_SUCCESS);
    CUmemoryPool of = nullptr;
    EXPECT_EQ(CALL(cuPointerGetAttribute)(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address + 5),
              CUDA_SUCCESS);
    EXPECT_EQ(of, pool);
    EXPECT_EQ(CALL(cuMemPoolDestroy)(pool), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 32U);
    EXPECT_EQ(CALL(cuDeviceGetMemPool)(&of, 0), CUDA_SUCCESS);
    EXPECT_EQ(of, DefaultOf(cuda));
    EXPECT_EQ(CALL(cuMemFreeAsync)(address, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
    EXPECT_EQ(CALL(cuMemPoolDestroy)(DefaultOf(cuda)), CUDA_ERROR_INVALID_VALUE);
  });
}

TEST_F(PoolsTest, ADestroyedPoolKeepsWhatIsFreedBehindWorkUntilThatIsDone) {
  OnGpu([](const Gpu& cuda) {
    const CUmemoryPool pool = NewPool(cuda, CU_MEM_LOCATION_TYPE_DEVICE);
    const CUstream stream = cuda.NewStream();
    const CUdeviceptr address = AllocateIn(cuda, pool, 64 * kMiB, stream);
    EXPECT_EQ(cuda.Launch(cuda.Spin(), 50'000'000, stream), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemFreeAsync)(address, stream), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemPoolDestroy)(pool), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 64U);
    EXPECT_EQ(CALL(cuStreamSynchronize)(stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(PoolsTest, APoolGivesNoMoreThanItMayAndAPoolOfTheHostTakesNothingOfTheCard) {
  OnGpu([](const Gpu& cuda) {
    const CUmemoryPool small = NewPool(cuda, CU_MEM_LOCATION_TYPE_DEVICE, 64 * kMiB);
    AllocateIn(cuda, small, 60 * kMiB);
    CUdeviceptr address = 0;
    EXPECT_EQ(CALL(cuMemAllocFromPoolAsync)(&address, 10 * kMiB, small, nullptr),
              CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuda.Resident(), 60U);
    AllocateIn(cuda, NewPool(cuda, CU_MEM_LOCATION_TYPE_HOST), 100 * kMiB);
    EXPECT_EQ(cuda.Resident(), 60U);
  });
}

TEST_F(PoolsTest, WhatAnotherPoolHandleImportsIsNotTakenTwice) {
  OnGpu([](const Gpu& cuda) {
    using Handle = CUmemAllocationHandleType;
    const CUmemoryPool pool = NewPool(cuda, CU_MEM_LOCATION_TYPE_DEVICE);
    const CUdeviceptr address = AllocateIn(cuda, pool, 64 * kMiB);
    int file = -1;
    auto* share = cuda.As<CUresult(void*, CUmemoryPool, Handle, unsigned long long)>(
        "cuMemPoolExportToShareableHandle");
    EXPECT_EQ(share(&file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
    CUmemPoolPtrExportData data{};
    auto* share_pointer =
        cuda.As<CUresult(CUmemPoolPtrExportData*, CUdeviceptr)>("cuMemPoolExportPointer");
    EXPECT_EQ(share_pointer(&data, address), CUDA_SUCCESS);
    CUmemoryPool imported = nullptr;
    CUdeviceptr again = 0;
    EXPECT_EQ(CALL(cuMemPoolImportFromShareableHandle)(
                  &imported, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemPoolImportPointer)(&again, imported, &data), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 64U);
    EXPECT_EQ(CALL(cuMemAllocFromPoolAsync)(&again, 1, imported, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuMemFreeAsync)(again, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemFreeAsync)(again, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.Resident(), 64U);
    close(file);
  });
}

TEST_F(PoolsTest, OnACardThatIsFullAPoolGivesUpWhatItDoesNotUseBeforeItRefuses) {
  OnGpu([](const Gpu& cuda) {
    const CUmemoryPool pool = DefaultOf(cuda);
    const CUdeviceptr address = AllocateIn(cuda, pool, 10'000 * kMiB);
    EXPECT_EQ(CALL(cuMemFreeAsync)(address, nullptr), CUDA_SUCCESS);
    AllocateIn(cuda, pool, 15'000 * kMiB);
    EXPECT_EQ(cuda.Resident(), 15'000U);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
