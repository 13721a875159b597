// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class GreenTest : public CudaTest {
 protected:
  static CUgreenCtx NewGreen(const Library& cuda, CUresult expected = CUDA_SUCCESS) {
    CUgreenCtx green = nullptr;
    // The fake ignores the parts.
    auto* const resources = reinterpret_cast<CUdevResourceDesc>(&green);
    EXPECT_EQ(CALL(cuGreenCtxCreate)(&green, resources, 0, 1), expected);
    return green;
  }
  static CUcontext ContextOf(const Library& cuda, CUgreenCtx green) {
    CUcontext context = nullptr;
    EXPECT_EQ(CALL(cuCtxFromGreenCtx)(&context, green), CUDA_SUCCESS);
    return context;
  }
  static CUstream NewStream(const Library& cuda, CUgreenCtx green) {
    CUstream stream = nullptr;
    EXPECT_EQ(CreateStream(cuda, &stream, green, 1), CUDA_SUCCESS);
    return stream;
  }
  static CUresult CreateStream(const Library& cuda, CUstream* out, CUgreenCtx green,
                               unsigned flags) {
    return cuda.As<CUresult(CUstream*, CUgreenCtx, unsigned, int)>("cuGreenCtxStreamCreate")(
        out, green, flags, 0);
  }
  static CUgreenCtx GreenOf(const Library& cuda, CUstream stream) {
    CUgreenCtx green = nullptr, same = nullptr;
    CUcontext context = nullptr, primary = nullptr;
    EXPECT_EQ(cuda.As<CUresult(CUstream, CUgreenCtx*)>("cuStreamGetGreenCtx")(stream, &green),
              CUDA_SUCCESS);
    EXPECT_EQ(cuda.As<CUresult(CUstream, CUcontext*, CUgreenCtx*)>("cuStreamGetCtx_v2")(
                  stream, &context, &same),
              CUDA_SUCCESS);
    EXPECT_EQ(same, green);
    EXPECT_EQ(CALL(cuDevicePrimaryCtxRetain)(&primary, 0), CUDA_SUCCESS);
    EXPECT_EQ(context, primary);
    EXPECT_EQ(CALL(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
    return green;
  }
  // cuGreenCtxRecordEvent, cuGreenCtxWaitEvent.
  static CUresult With(const Library& cuda, const char* name, CUgreenCtx green, CUevent event) {
    return cuda.As<CUresult(CUgreenCtx, CUevent)>(name)(green, event);
  }
};

constexpr CUresult kStreamDetached{917};
constexpr uint64_t kLong = 30'000'000'000;  // ns; no test waits for it

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

TEST_F(GreenTest, AStreamIsOfTheOneItWasMadeForWhateverIsCurrent) {
  OnGpu([](const Gpu& cuda) {
    const CUgreenCtx green = NewGreen(cuda);
    CUcontext context = nullptr;
    const CUstream stream = NewStream(cuda, green), other = cuda.NewStream();
    EXPECT_EQ(GreenOf(cuda, stream), green);
    EXPECT_EQ(GreenOf(cuda, other), nullptr);
    EXPECT_EQ(GreenOf(cuda, nullptr), nullptr);
    EXPECT_EQ(CALL(cuStreamGetCtx)(stream, &context), CUDA_SUCCESS);
    EXPECT_EQ(context, ContextOf(cuda, green));
    CUstream none = nullptr;
    EXPECT_EQ(CreateStream(cuda, &none, green, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CreateStream(cuda, &none, nullptr, 1), CUDA_ERROR_INVALID_CONTEXT);
  });
}

TEST_F(GreenTest, AnOrdinaryStreamIsOfTheOneThatIsCurrentWhenItIsMade) {
  OnGpu([](const Gpu& cuda) {
    const CUgreenCtx green = NewGreen(cuda);
    EXPECT_EQ(CALL(cuCtxSetCurrent)(ContextOf(cuda, green)), CUDA_SUCCESS);
    const CUstream stream = cuda.NewStream();
    EXPECT_EQ(GreenOf(cuda, nullptr), green);
    EXPECT_EQ(CALL(cuCtxSetCurrent)(cuda.context), CUDA_SUCCESS);
    EXPECT_EQ(GreenOf(cuda, stream), green);
  });
}

TEST_F(GreenTest, OnceItIsDestroyedItsStreamsCanOnlyBeDestroyed) {
  OnGpu([](const Gpu& cuda) {
    const CUgreenCtx green = NewGreen(cuda);
    const CUfunction spin = cuda.Spin();
    const CUstream stream = NewStream(cuda, green);
    CUevent event = nullptr;
    EXPECT_EQ(CALL(cuEventCreate)(&event, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, 1, stream), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuGreenCtxDestroy)(green), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, 1, stream), kStreamDetached);
    EXPECT_EQ(CALL(cuStreamSynchronize)(stream), kStreamDetached);
    EXPECT_EQ(CALL(cuEventRecord)(event, stream), kStreamDetached);
    EXPECT_EQ(CALL(cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, 1, stream), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST_F(GreenTest, AnEventOfThePrimaryContextIsRecordedInItsStreams) {
  OnGpu([](const Gpu& cuda) {
    const CUstream stream = NewStream(cuda, NewGreen(cuda));
    CUevent event = nullptr, others = nullptr;
    CUcontext other = nullptr;
    EXPECT_EQ(CALL(cuEventCreate)(&event, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(cuda.Spin(), kLong, stream), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventRecord)(event, stream), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventQuery)(event), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(CALL(cuCtxCreate_v2)(&other, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventCreate)(&others, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventRecord)(others, stream), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST_F(GreenTest, AnEventOfItIsDoneWithAllThatIsInItsStreamsAndNoOthers) {
  OnGpu([](const Gpu& cuda) {
    const CUgreenCtx green = NewGreen(cuda), idle = NewGreen(cuda);
    const CUstream stream = NewStream(cuda, green);
    CUevent event = nullptr;
    EXPECT_EQ(CALL(cuEventCreate)(&event, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(cuda.Spin(), kLong, stream), CUDA_SUCCESS);
    EXPECT_EQ(With(cuda, "cuGreenCtxRecordEvent", idle, event), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventQuery)(event), CUDA_SUCCESS);
    EXPECT_EQ(With(cuda, "cuGreenCtxRecordEvent", green, event), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventQuery)(event), CUDA_ERROR_NOT_READY);
  });
}

TEST_F(GreenTest, WhereItWaitsForAnEventItsStreamsDoTheLaterOnesToo) {
  OnGpu([](const Gpu& cuda) {
    const CUgreenCtx green = NewGreen(cuda);
    const CUstream before = NewStream(cuda, green), other = cuda.NewStream();
    CUevent event = nullptr;
    EXPECT_EQ(CALL(cuEventCreate)(&event, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(cuda.Spin(), kLong, other), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventRecord)(event, other), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuStreamQuery)(before), CUDA_SUCCESS);
    EXPECT_EQ(With(cuda, "cuGreenCtxWaitEvent", green, event), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuStreamQuery)(before), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(CALL(cuStreamQuery)(NewStream(cuda, green)), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(CALL(cuStreamQuery)(cuda.NewStream()), CUDA_SUCCESS);
  });
}

TEST_F(GreenTest, WhereItIsCurrentItsOwnStreamsAloneAreWaitedFor) {
  OnGpu([](const Gpu& cuda) {
    const CUgreenCtx green = NewGreen(cuda);
    const CUfunction spin = cuda.Spin();
    const CUstream stream = NewStream(cuda, green), other = cuda.NewStream();
    EXPECT_EQ(cuda.Launch(spin, 1'000'000, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, kLong, other), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSetCurrent)(ContextOf(cuda, green)), CUDA_SUCCESS);
    EXPECT_EQ(cuda.As<CUresult()>("cuCtxSynchronize")(), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuStreamQuery)(stream), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuStreamQuery)(other), CUDA_ERROR_NOT_READY);
  });
}

TEST_F(GreenTest, APartOfADeviceHasMultiprocessorsByTheEight) {
  OnGpu([](const Gpu& cuda) {
    struct Part {
      int type;
      char padding[92];
      unsigned count;
      char others[44];
    } whole{}, parts[9] = {}, rest{};
    unsigned groups = 9;
    EXPECT_EQ((cuda.As<CUresult(CUdevice, Part*, int)>("cuDeviceGetDevResource")(0, &whole, 1)),
              CUDA_SUCCESS);
    EXPECT_EQ(whole.count, 40U);
    EXPECT_EQ((cuda.As<CUresult(Part*, unsigned*, const Part*, Part*, unsigned, unsigned)>(
                  "cuDevSmResourceSplitByCount")(parts, &groups, &whole, &rest, 0, 9)),
              CUDA_SUCCESS);
    EXPECT_EQ(groups, 2U);
    EXPECT_EQ(parts[1].count, 16U);
    EXPECT_EQ(rest.count, 8U);
    CUdevResourceDesc description = nullptr;
    CUgreenCtx green = nullptr;
    EXPECT_EQ((cuda.As<CUresult(CUdevResourceDesc*, Part*, unsigned)>("cuDevResourceGenerateDesc")(
                  &description, parts, 1)),
              CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuGreenCtxCreate)(&green, description, 0, 1), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
