// SPDX-License-Identifier: Apache-2.0
// Green contexts of 2 MiB each, besides the primary context of 200 MiB.
#include "limiter/memory_test.h"

namespace tessera::limiter {
namespace {

class GreenTest : public MemoryTest {
 protected:
  // Runs the body in a process without a context, where the size of one is known.
  template <typename Body>
  void RunBare(Body body) {
    node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=200,module-mib=20");
    EXPECT_TRUE(node_.Run([&](const fake_cuda::Library& cuda) {
      library_ = &cuda;
      ASSERT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
      ASSERT_TRUE(JoinWith(limits_)) << Meaning(WhyAlone());
      NoteContextBytes(0, 200 * kMiB);
      body(cuda);
      if (HasFailure()) throw std::runtime_error("see above");
    }));
  }
  static CUgreenCtx NewGreen(CUresult expected = CUDA_SUCCESS) {
    CUgreenCtx green = nullptr;
    EXPECT_EQ(cuGreenCtxCreate(&green, reinterpret_cast<CUdevResourceDesc>(&green), 0, 1),
              expected);
    return green;
  }
  // The limiter could not measure a context before there was one.
  static uint64_t OwnMiB() { return TheRegion()->hami.slots[OwnSlot()].used[0].context / kMiB; }
  static void MakeCurrent(const fake_cuda::Library& cuda, CUgreenCtx green) {
    CUcontext context = nullptr;
    ASSERT_EQ(cuCtxFromGreenCtx(&context, green), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent)(context), CUDA_SUCCESS);
  }
};

TEST_F(GreenTest, ThePrimaryContextIsCountedAsLongAsAGreenOneRetainsIt) {
  RunBare([&](const fake_cuda::Library&) {
    const CUgreenCtx first = NewGreen(), second = NewGreen();
    EXPECT_EQ(OwnMiB(), 200u);
    EXPECT_EQ(cuGreenCtxDestroy(first), CUDA_SUCCESS);
    EXPECT_EQ(OwnMiB(), 200u);
    EXPECT_EQ(cuGreenCtxDestroy(second), CUDA_SUCCESS);
    ExpectTrue(0);
    EXPECT_NE(cuGreenCtxDestroy(second), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

TEST_F(GreenTest, WhatOneTakesBesideItIsCountedWhereSomebodyCanLook) {
  RunBare([&](const fake_cuda::Library& cuda) {
    CUcontext primary = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent)(primary), CUDA_SUCCESS);
    const CUgreenCtx first = NewGreen(), second = NewGreen();
    ExpectTrue(204);
    EXPECT_EQ(OwnMiB(), 204u);
    EXPECT_EQ(cuGreenCtxDestroy(first), CUDA_SUCCESS);
    EXPECT_EQ(cuGreenCtxDestroy(second), CUDA_SUCCESS);
    ExpectTrue(200);
  });
}

TEST_F(GreenTest, WithoutRoomThereIsNone) {
  limits_.devices[0].bytes = 203 * kMiB;
  RunBare([&](const fake_cuda::Library& cuda) {
    ASSERT_TRUE(Reserve(0, 10 * kMiB, Kind::kData));
    NewGreen(CUDA_ERROR_OUT_OF_MEMORY);
    Release(0, 10 * kMiB, Kind::kData);
    ExpectTrue(0);
    CUcontext primary = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent)(primary), CUDA_SUCCESS);
    NewGreen();
    NewGreen(CUDA_ERROR_OUT_OF_MEMORY);
    ExpectTrue(202);
  });
}

TEST_F(GreenTest, WhatTheDriverRefusesIsNotCounted) {
  RunBare([&](const fake_cuda::Library&) {
    CUgreenCtx green = nullptr;
    CUcontext context = nullptr;
    EXPECT_EQ(cuGreenCtxCreate(&green, nullptr, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuGreenCtxCreate(nullptr, nullptr, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuCtxFromGreenCtx(&context, nullptr), CUDA_ERROR_INVALID_CONTEXT);
    ExpectTrue(0);
  });
}

TEST_F(GreenTest, WhatIsInOneStaysWithThePrimaryContextAndGoesWithIt) {
  RunBare([&](const fake_cuda::Library& cuda) {
    CUcontext primary = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuCtxSetCurrent)(primary), CUDA_SUCCESS);
    const CUgreenCtx green = NewGreen();
    MakeCurrent(cuda, green);
    CUdeviceptr kept = 0, freed = 0;
    ASSERT_EQ(cuMemAlloc_v2(&kept, 10 * kMiB), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc_v2(&freed, 10 * kMiB), CUDA_SUCCESS);
    const CUDA_ARRAY_DESCRIPTOR wanted{
        .Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUarray array = nullptr;
    ASSERT_EQ(cuArrayCreate_v2(&array, &wanted), CUDA_SUCCESS);
    CUmodule module = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, ".visible .entry spin(.param .u64 ns) {}"), CUDA_SUCCESS);
    ExpectTrue(202 + 20 + 4 + 20);
    EXPECT_EQ(cuMemFree_v2(freed), CUDA_SUCCESS);
    EXPECT_EQ(cuGreenCtxDestroy(green), CUDA_SUCCESS);
    ExpectTrue(200 + 10 + 4 + 20);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    ExpectTrue(0);
  });
}

}  // namespace
}  // namespace tessera::limiter
