// SPDX-License-Identifier: Apache-2.0
// A device without a known limit gets no memory if the container's limits are in a file. If the
// policy is closed, no device without limits gets any.
#include "limiter/memory_test.h"

namespace tessera::limiter {
namespace {

class DeniedTest : public MemoryTest {
 protected:
  void Name(const char* uuid) {
    limits_.source = Source::kFile;
    std::strcpy(limits_.devices[0].uuid, uuid);
  }
  static CUresult Allocate() {
    CUdeviceptr pointer = 0;
    return cuMemAlloc_v2(&pointer, kMiB);
  }
  void ExpectNoMemoryOfAnyKind() {
    EXPECT_EQ(Allocate(), CUDA_ERROR_OUT_OF_MEMORY);
    CUdeviceptr pointer = 0;
    size_t pitch = 0;
    EXPECT_EQ(cuMemAllocPitch_v2(&pointer, &pitch, 100, 100, 4), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuMemAllocManaged(&pointer, kMiB, 1), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuMemAllocAsync(&pointer, kMiB, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(cuMemCreate(&handle, 2 * kMiB, &wanted, 0), CUDA_ERROR_OUT_OF_MEMORY);
    const CUDA_ARRAY_DESCRIPTOR square{
        .Width = 64, .Height = 64, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUarray array = nullptr;
    EXPECT_EQ(cuArrayCreate_v2(&array, &square), CUDA_ERROR_OUT_OF_MEMORY);
    CUcontext context = nullptr;
    EXPECT_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(Resident(), 0u);
  }
  static void ExpectNothingShown() {
    size_t free = 0, total = 0;
    EXPECT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    EXPECT_EQ(total, 1u);
    EXPECT_LE(free, 1u);
    EXPECT_EQ(cuDeviceTotalMem_v2(&total, 0), CUDA_SUCCESS);
    EXPECT_EQ(total, 1u);
  }
};

TEST_F(DeniedTest, ADeviceThatTheFileDoesNotNameGetsNoMemoryOfAnyKind) {
  Name("GPU-00000000-0000-0000-0000-000000000000");
  Run([&] { ExpectNoMemoryOfAnyKind(); });
}

TEST_F(DeniedTest, OfADeviceThatTheFileDoesNotNameNothingIsShown) {
  Name("GPU-00000000-0000-0000-0000-000000000000");
  Run([&] { ExpectNothingShown(); });
}

TEST_F(DeniedTest, WithoutLimitsThereIsNoMemoryWhereThatIsClosedNorIsAnyShown) {
  limits_.source = Source::kNone;
  limits_.count = 0;
  limits_.closed = true;
  has_accounting_ = false;
  Run([&] {
    ExpectNoMemoryOfAnyKind();
    ExpectNothingShown();
  });
}

TEST_F(DeniedTest, ADeviceThatTheDriverDoesNotNameGetsNoneUntilItDoes) {
  Name(kUuid);
  node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0,no-uuid=4");  // asked twice a call
  Run([&] {
    EXPECT_EQ(Allocate(), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(Allocate(), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(Allocate(), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 2 * kMiB);
  });
}

TEST_F(DeniedTest, WhereTheEnvironmentCountsDevicesTheyAreCountedOnceAllAreNamed) {
  node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0,no-uuid=1");
  Run([&] {
    EXPECT_EQ(Allocate(), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(Allocate(), CUDA_SUCCESS);
    EXPECT_EQ(Used(0), 2 * kMiB);
  });
}

TEST_F(DeniedTest, WhatTheDriverItselfRefusesIsItsAnswer) {
  Name(kUuid);
  EXPECT_TRUE(node_.Run([&](const fake_cuda::Library& cuda) {
    ASSERT_TRUE(JoinWith(limits_));
    EXPECT_EQ(Allocate(), CUDA_ERROR_NOT_INITIALIZED);
    ASSERT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    EXPECT_EQ(Allocate(), CUDA_ERROR_INVALID_CONTEXT);
    CUcontext context = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 7), CUDA_ERROR_INVALID_DEVICE);
    if (HasFailure()) throw std::runtime_error("see above");
  }));
}

}  // namespace
}  // namespace tessera::limiter
