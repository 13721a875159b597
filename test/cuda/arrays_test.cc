// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class ArraysTest : public CudaTest {
 protected:
  static constexpr CUDA_ARRAY3D_DESCRIPTOR kCube{.Width = 256,
                                                 .Height = 256,
                                                 .Depth = 256,
                                                 .Format = CU_AD_FORMAT_FLOAT,
                                                 .NumChannels = 1,
                                                 .Flags = 0};
};

TEST_F(ArraysTest, AnArrayHasRowsOfWholeUnits) {
  OnGpu([](const Gpu& cuda) {
    const CUDA_ARRAY_DESCRIPTOR descriptor{10, 8192, CU_AD_FORMAT_FLOAT, 4};
    CUarray array = nullptr;
    EXPECT_EQ(CALL(cuArrayCreate_v2)(&array, &descriptor), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 4U);
    EXPECT_EQ(CALL(cuArrayDestroy)(array), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuArrayDestroy)(array), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(ArraysTest, LevelsAreEachHalfAsLargeAndGoTogether) {
  OnGpu([](const Gpu& cuda) {
    CUmipmappedArray array = nullptr;
    EXPECT_EQ(CALL(cuMipmappedArrayCreate)(&array, &kCube, 2), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 64U + 8U);
    EXPECT_EQ(CALL(cuMipmappedArrayDestroy)(array), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(ArraysTest, OneThatIsMappedLaterTakesNothingAndSaysWhatItNeeds) {
  OnGpu([](const Gpu& cuda) {
    CUDA_ARRAY3D_DESCRIPTOR descriptor = kCube;
    descriptor.Flags = CUDA_ARRAY3D_DEFERRED_MAPPING;
    CUarray array = nullptr;
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs{};
    EXPECT_EQ(CALL(cuArray3DCreate_v2)(&array, &descriptor), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
    EXPECT_EQ(CALL(cuArrayGetMemoryRequirements)(&needs, array, 0), CUDA_SUCCESS);
    EXPECT_EQ(needs.size, 64 * kMiB);
    EXPECT_EQ(CALL(cuArrayDestroy)(array), CUDA_SUCCESS);
  });
}

TEST_F(ArraysTest, OneThatIsTooLargeOrNoneIsRefused) {
  OnGpu([](const Gpu& cuda) {
    CUarray array = nullptr;
    CUDA_ARRAY3D_DESCRIPTOR descriptor = kCube;
    descriptor.Depth = 256 * 256;
    EXPECT_EQ(CALL(cuArray3DCreate_v2)(&array, &descriptor), CUDA_ERROR_OUT_OF_MEMORY);
    descriptor.Width = descriptor.Height = SIZE_MAX / 8;
    EXPECT_EQ(CALL(cuArray3DCreate_v2)(&array, &descriptor), CUDA_ERROR_OUT_OF_MEMORY);
    descriptor = kCube;
    descriptor.NumChannels = 3;
    EXPECT_EQ(CALL(cuArray3DCreate_v2)(&array, &descriptor), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuArray3DCreate_v2)(&array, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
