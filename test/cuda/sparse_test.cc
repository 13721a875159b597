// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class SparseTest : public CudaTest {
 protected:
  static CUarray NewArray(const Gpu& cuda) {
    const CUDA_ARRAY3D_DESCRIPTOR wanted{.Width = 1024,
                                         .Height = 1024,
                                         .Depth = 0,
                                         .Format = CU_AD_FORMAT_FLOAT,
                                         .NumChannels = 1,
                                         .Flags = CUDA_ARRAY3D_SPARSE};
    CUarray array = nullptr;
    EXPECT_EQ(CALL(cuArray3DCreate_v2)(&array, &wanted), CUDA_SUCCESS);
    return array;
  }
  static CUmemGenericAllocationHandle NewMemory(const Gpu& cuda, uint64_t bytes) {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    wanted.allocFlags.usage = 1;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(CALL(cuMemCreate)(&handle, bytes, &wanted, 0), CUDA_SUCCESS);
    return handle;
  }
  // An operation that maps whole rows of tiles, of 512 KiB each. Without a handle, it unmaps them.
  static CUarrayMapInfo Rows(CUarray array, unsigned first, unsigned count,
                             CUmemGenericAllocationHandle handle) {
    CUarrayMapInfo operation{};
    operation.resource = array;
    operation.subresource.sparseLevel = {0, 0, 0, first * 128, 0, 1024, count * 128, 1};
    operation.memOperationType = handle != 0 ? 1 : 2;
    operation.memHandle = handle;
    operation.deviceBitMask = 1;
    return operation;
  }
  static CUresult Do(const Gpu& cuda, std::vector<CUarrayMapInfo> all) {
    return CALL(cuMemMapArrayAsync)(all.data(), static_cast<unsigned>(all.size()), nullptr);
  }
};

TEST_F(SparseTest, MemoryStaysUntilNoTileHasIt) {
  OnGpu([](const Gpu& cuda) {
    const CUarray array = NewArray(cuda);
    const auto handle = NewMemory(cuda, 4 * kMiB);
    EXPECT_EQ(Do(cuda, {Rows(array, 0, 8, handle)}), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 4U);
    EXPECT_EQ(Do(cuda, {Rows(array, 0, 4, 0)}), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 4U);
    EXPECT_EQ(Do(cuda, {Rows(array, 4, 4, 0)}), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(SparseTest, ATileThatIsMappedAgainHasTheLatterMemory) {
  OnGpu([](const Gpu& cuda) {
    const CUarray array = NewArray(cuda);
    const auto first = NewMemory(cuda, 4 * kMiB), second = NewMemory(cuda, 2 * kMiB);
    EXPECT_EQ(Do(cuda, {Rows(array, 0, 4, first), Rows(array, 0, 4, second)}), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemRelease)(first), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuMemRelease)(second), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 2U);
    EXPECT_EQ(CALL(cuArrayDestroy)(array), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(SparseTest, WithOneOperationWrongNoneIsDone) {
  OnGpu([](const Gpu& cuda) {
    const CUarray array = NewArray(cuda);
    const auto handle = NewMemory(cuda, 2 * kMiB);
    EXPECT_EQ(Do(cuda, {Rows(array, 0, 1, handle), Rows(array, 7, 2, handle)}),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Do(cuda, {Rows(array, 0, 5, handle)}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuMemRelease)(handle), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
    EXPECT_EQ(Do(cuda, {Rows(array, 0, 1, handle)}), CUDA_ERROR_INVALID_VALUE);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
