// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class GreenTest : public CudaTest {
 protected:
  static CUgreenCtx NewGreen(const Library& cuda, CUresult expected = CUDA_SUCCESS) {
    CUgreenCtx green = nullptr;
    // What a part is made of is not looked at.
    auto* const resources = reinterpret_cast<CUdevResourceDesc>(&green);
    EXPECT_EQ(CALL(cuGreenCtxCreate)(&green, resources, 0, 1), expected);
    return green;
  }
};

TEST_F(GreenTest, ItRetainsThePrimaryContext) {
  InProcess([](const Library& cuda) {
    EXPECT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    const CUgreenCtx green = NewGreen(cuda);
    unsigned flags = 0;
    int active = 0;
    EXPECT_EQ(CALL(cuDevicePrimaryCtxGetState)(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 1);
    EXPECT_EQ(CALL(cuGreenCtxDestroy)(green), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuDevicePrimaryCtxGetState)(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 0);
    EXPECT_EQ(CALL(cuGreenCtxDestroy)(green), CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST_F(GreenTest, WhatIsAllocatedInItIsThePrimaryContexts) {
  OnGpu([](const Gpu& cuda) {
    const CUgreenCtx green = NewGreen(cuda);
    CUcontext context = nullptr, current = nullptr, owner = nullptr;
    EXPECT_EQ(CALL(cuCtxFromGreenCtx)(&context, green), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSetCurrent)(context), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, context);
    const CUdeviceptr pointer = cuda.Allocate(10 * kMiB);
    EXPECT_EQ(CALL(cuPointerGetAttribute)(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, pointer),
              CUDA_SUCCESS);
    EXPECT_EQ(owner, cuda.context);
    EXPECT_EQ(cuda.Resident(), 12U);
    EXPECT_EQ(CALL(cuCtxDestroy_v2)(context), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(CALL(cuGreenCtxDestroy)(green), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSetCurrent)(cuda.context), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 10U);
    EXPECT_EQ(cuda.Free(pointer), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
