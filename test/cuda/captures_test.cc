// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class CapturesTest : public CudaTest {
 protected:
  static void Begin(const Library& cuda, CUstream stream, CUstreamCaptureMode mode) {
    auto* begin = cuda.As<CUresult(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2");
    EXPECT_EQ(begin(stream, mode), CUDA_SUCCESS);
  }
  static CUgraph End(const Library& cuda, CUstream stream, CUresult expected = CUDA_SUCCESS) {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuda.As<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture")(stream, &graph),
              expected);
    EXPECT_EQ(graph == nullptr, expected != CUDA_SUCCESS);
    return graph;
  }
  static CUstreamCaptureStatus StatusOf(const Library& cuda, CUstream stream) {
    CUstreamCaptureStatus status{};
    EXPECT_EQ(CALL(cuStreamIsCapturing)(stream, &status), CUDA_SUCCESS);
    return status;
  }
  static CUstreamCaptureMode Exchange(const Library& cuda, CUstreamCaptureMode mode) {
    EXPECT_EQ(CALL(cuThreadExchangeStreamCaptureMode)(&mode), CUDA_SUCCESS);
    return mode;
  }
  static size_t NodesOf(const Library& cuda, CUgraph graph) {
    size_t count = 0;
    EXPECT_EQ(CALL(cuGraphGetNodes)(graph, nullptr, &count), CUDA_SUCCESS);
    return count;
  }
  // The result of an unsafe call on another thread with this capture mode.
  static CUresult UnsafeElsewhere(const Gpu& cuda, CUstreamCaptureMode mode) {
    CUresult result = CUDA_ERROR_UNKNOWN;
    std::thread([&] {
      Exchange(cuda, mode);
      CUevent event = nullptr;
      EXPECT_EQ(CALL(cuCtxSetCurrent)(cuda.context), CUDA_SUCCESS);
      EXPECT_EQ(CALL(cuEventCreate)(&event, 0), CUDA_SUCCESS);
      result = CALL(cuEventQuery)(event);
    }).join();
    return result;
  }
};

TEST_F(CapturesTest, WorkOfACapturedStreamIsNotDoneButInTheGraph) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    const CUstream stream = cuda.NewStream();
    Begin(cuda, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(StatusOf(cuda, stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_EQ(cuda.Launch(spin, kMs, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, kMs, stream), CUDA_SUCCESS);
    CUgraph graph = End(cuda, stream);
    EXPECT_EQ(StatusOf(cuda, stream), CU_STREAM_CAPTURE_STATUS_NONE);
    EXPECT_EQ(NodesOf(cuda, graph), 2U);
    EXPECT_EQ(CALL(fakecuda_kernels)(0), 0U);
  });
}

TEST_F(CapturesTest, AGlobalCaptureBarsUnsafeCallsOfEveryThreadAndBreaksByThem) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    const CUstream stream = cuda.NewStream();
    Begin(cuda, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(UnsafeElsewhere(cuda, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(StatusOf(cuda, stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(cuda.Launch(spin, 1, stream), CUresult{901});
    End(cuda, stream, CUresult{901});
  });
}

TEST_F(CapturesTest, AThreadInAnotherModeIsNotBarredByAnothersCapture) {
  OnGpu([](const Gpu& cuda) {
    const CUstream stream = cuda.NewStream();
    Begin(cuda, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(UnsafeElsewhere(cuda, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    EXPECT_EQ(UnsafeElsewhere(cuda, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    End(cuda, stream);
    Begin(cuda, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    EXPECT_EQ(UnsafeElsewhere(cuda, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    End(cuda, stream);
  });
}

TEST_F(CapturesTest, TheThreadThatCapturesIsBarredUntilItIsRelaxed) {
  OnGpu([](const Gpu& cuda) {
    const CUstream stream = cuda.NewStream();
    Begin(cuda, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    EXPECT_EQ(Exchange(cuda, CU_STREAM_CAPTURE_MODE_RELAXED), CU_STREAM_CAPTURE_MODE_GLOBAL);
    cuda.Allocate(1);
    EXPECT_EQ(Exchange(cuda, CU_STREAM_CAPTURE_MODE_GLOBAL), CU_STREAM_CAPTURE_MODE_RELAXED);
    cuda.Allocate(1, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    End(cuda, stream, CUresult{901});
    Begin(cuda, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    cuda.Allocate(1);
    End(cuda, stream);
  });
}

TEST_F(CapturesTest, AStreamThatWaitsForACapturedEventIsCapturedToo) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    const CUstream first = cuda.NewStream();
    const CUstream second = cuda.NewStream();
    CUevent event = nullptr;
    EXPECT_EQ(CALL(cuEventCreate)(&event, 0), CUDA_SUCCESS);
    Begin(cuda, first, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(CALL(cuEventRecord)(event, first), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventQuery)(event), CUresult{907});
    auto* wait = cuda.As<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent");
    EXPECT_EQ(wait(second, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, kMs, second), CUDA_SUCCESS);
    EXPECT_EQ(StatusOf(cuda, second), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    End(cuda, second, CUresult{903});
    EXPECT_EQ(NodesOf(cuda, End(cuda, first)), 1U);
    EXPECT_EQ(StatusOf(cuda, second), CU_STREAM_CAPTURE_STATUS_NONE);
  });
}

TEST_F(CapturesTest, TheLegacyStreamIsNotCapturedAndBreaksCapturesOfStreamsThatItWaitsFor) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    auto* begin = cuda.As<CUresult(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2");
    EXPECT_EQ(begin(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    const CUstream blocking = cuda.NewStream(0);
    Begin(cuda, blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(cuda.Launch(spin, 1), CUresult{906});
    End(cuda, blocking, CUresult{901});
    const CUstream other = cuda.NewStream(1);
    Begin(cuda, other, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(cuda.Launch(spin, 1), CUDA_SUCCESS);
    End(cuda, other);
  });
}

TEST_F(CapturesTest, AWaitForACapturedStreamBreaksTheCapture) {
  OnGpu([](const Gpu& cuda) {
    const CUstream stream = cuda.NewStream();
    Begin(cuda, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    EXPECT_EQ(CALL(cuStreamSynchronize)(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    End(cuda, stream, CUresult{901});
  });
}

TEST_F(CapturesTest, OnlyTheThreadThatBeganEndsACaptureThatIsNotRelaxed) {
  OnGpu([](const Gpu& cuda) {
    const CUstream stream = cuda.NewStream();
    Begin(cuda, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    std::thread([&] {
      EXPECT_EQ(CALL(cuCtxSetCurrent)(cuda.context), CUDA_SUCCESS);
      End(cuda, stream, CUresult{908});
    }).join();
    End(cuda, stream);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
