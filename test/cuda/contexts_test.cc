// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class ContextsTest : public CudaTest {};

TEST_F(ContextsTest, WithoutACurrentContextMemoryIsRefused) {
  InProcess([](const Library& cuda) {
    EXPECT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    CUdeviceptr address = 0;
    size_t free = 0;
    size_t total = 0;
    EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, 1), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(CALL(cuMemGetInfo_v2)(&free, &total), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST_F(ContextsTest, ThePrimaryContextLivesUntilItsLastRelease) {
  Options("context-mib=300");
  OnGpu([](const Gpu& cuda) {
    CUcontext again = nullptr;
    EXPECT_EQ(CALL(cuDevicePrimaryCtxRetain)(&again, 0), CUDA_SUCCESS);
    EXPECT_EQ(again, cuda.context);
    EXPECT_EQ(cuda.Resident(), 300U);
    EXPECT_EQ(CALL(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 300U);
    EXPECT_EQ(CALL(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
    EXPECT_EQ(CALL(cuDevicePrimaryCtxRelease_v2)(0), CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST_F(ContextsTest, WhatAContextAllocatedGoesWithIt) {
  Options("context-mib=100");
  OnGpu([](const Gpu& cuda) {
    CUcontext own = nullptr;
    EXPECT_EQ(CALL(cuCtxCreate_v2)(&own, 0, 0), CUDA_SUCCESS);
    cuda.Allocate(10 * kMiB);
    cuda.Allocate(1000);
    EXPECT_EQ(cuda.Resident(), 212U);
    EXPECT_EQ(CALL(cuCtxDestroy_v2)(own), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 100U);
    CUcontext now = nullptr;
    EXPECT_EQ(CALL(cuCtxGetCurrent)(&now), CUDA_SUCCESS);
    EXPECT_EQ(now, cuda.context);
  });
}

TEST_F(ContextsTest, AResetFreesEverythingEvenWhileTheContextIsHeld) {
  Options("context-mib=100");
  OnGpu([](const Gpu& cuda) {
    cuda.Allocate(10 * kMiB);
    EXPECT_EQ(CALL(cuDevicePrimaryCtxReset_v2)(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
    CUdeviceptr address = 0;
    EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, 1), CUresult{709});
    unsigned flags = 0;
    int active = 1;
    EXPECT_EQ(CALL(cuDevicePrimaryCtxGetState)(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 0);
  });
}

TEST_F(ContextsTest, ContextsArePushedAndPoppedInOrder) {
  OnGpu([](const Gpu& cuda) {
    CUcontext own = nullptr;
    EXPECT_EQ(CALL(cuCtxCreate_v2)(&own, 0, 0), CUDA_SUCCESS);
    CUcontext popped = nullptr;
    EXPECT_EQ(CALL(cuCtxPopCurrent_v2)(&popped), CUDA_SUCCESS);
    EXPECT_EQ(popped, own);
    EXPECT_EQ(CALL(cuCtxPopCurrent_v2)(&popped), CUDA_SUCCESS);
    EXPECT_EQ(popped, cuda.context);
    EXPECT_EQ(CALL(cuCtxPopCurrent_v2)(&popped), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(CALL(cuCtxPushCurrent_v2)(own), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxPushCurrent_v2)(reinterpret_cast<CUcontext>(8)),
              CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST_F(ContextsTest, AContextThatTheCardHasNoRoomForIsRefused) {
  Options("context-mib=8000");
  OnGpu([](const Gpu& cuda) {
    CUcontext own = nullptr;
    EXPECT_EQ(CALL(cuCtxCreate_v2)(&own, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuda.Resident(), 8000U);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
