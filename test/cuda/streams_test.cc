// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>

#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class StreamsTest : public CudaTest {
 protected:
  static CUevent Record(const Library& cuda, CUstream stream = nullptr) {
    CUevent event = nullptr;
    EXPECT_EQ(CALL(cuEventCreate)(&event, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventRecord)(event, stream), CUDA_SUCCESS);
    return event;
  }
  static double Elapsed(const Library& cuda, CUevent start, CUevent end) {
    float ms = 0;
    EXPECT_EQ(CALL(cuEventElapsedTime)(&ms, start, end), CUDA_SUCCESS);
    return static_cast<double>(ms);
  }
};

TEST_F(StreamsTest, AKernelTakesTheTimeThatItsArgumentSays) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    constexpr uint64_t kTakes = 500 * kMs;
    const uint64_t launched = Now();
    EXPECT_EQ(cuda.Launch(spin, kTakes), CUDA_SUCCESS);
    EXPECT_LT(Now() - launched, kTakes);
    EXPECT_EQ(CALL(cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
    EXPECT_GE(Now() - launched, kTakes);
    EXPECT_EQ(CALL(fakecuda_busy)(cuda.Uuid().c_str(), getpid()), kTakes);
    EXPECT_EQ(CALL(fakecuda_kernels)(getpid()), 1U);
  });
}

TEST_F(StreamsTest, TheTimeBetweenTwoEventsIsThatOfTheKernelsBetweenThem) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    EXPECT_EQ(cuda.Launch(spin, 400 * kMs), CUDA_SUCCESS);  // all is queued before its end
    const CUevent start = Record(cuda);
    EXPECT_EQ(cuda.Launch(spin, 5 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, 2 * kMs), CUDA_SUCCESS);
    const CUevent end = Record(cuda);
    float ms = 0;
    EXPECT_EQ(CALL(cuEventQuery)(end), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(CALL(cuEventElapsedTime)(&ms, start, end), CUDA_ERROR_NOT_READY);
    auto* synchronize = cuda.As<CUresult(CUevent)>("cuEventSynchronize");
    EXPECT_EQ(synchronize(end), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventQuery)(end), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(static_cast<float>(Elapsed(cuda, start, end)), 7);
  });
}

TEST_F(StreamsTest, AnEventWithoutTimeOrThatWasNeverRecordedHasNone) {
  OnGpu([](const Gpu& cuda) {
    CUevent untimed = nullptr;
    CUevent never = nullptr;
    float ms = 0;
    EXPECT_EQ(CALL(cuEventCreate)(&untimed, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventCreate)(&never, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventRecord)(untimed, nullptr), CUDA_SUCCESS);
    const CUevent timed = Record(cuda);
    EXPECT_EQ(CALL(cuEventElapsedTime)(&ms, timed, untimed), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(CALL(cuEventElapsedTime)(&ms, timed, never), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(CALL(cuEventQuery)(never), CUDA_SUCCESS);
  });
}

TEST_F(StreamsTest, AStreamIsDoneWhenItsOwnWorkIs) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    const CUstream first = cuda.NewStream();
    const CUstream second = cuda.NewStream();
    const CUstream idle = cuda.NewStream();
    EXPECT_EQ(cuda.Launch(spin, 200 * kMs, first), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, 1'500 * kMs, second), CUDA_SUCCESS);
    auto* query = cuda.As<CUresult(CUstream)>("cuStreamQuery");
    EXPECT_EQ(query(idle), CUDA_SUCCESS);
    EXPECT_EQ(query(first), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(CALL(cuStreamSynchronize)(first), CUDA_SUCCESS);
    EXPECT_EQ(query(second), CUDA_ERROR_NOT_READY);
    auto* wait = cuda.As<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent");
    EXPECT_EQ(wait(idle, Record(cuda, second), 0), CUDA_SUCCESS);
    EXPECT_EQ(query(idle), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_EQ(query(idle), CUDA_SUCCESS);
  });
}

TEST_F(StreamsTest, TheDefaultStreamOfAThreadIsNoOthers) {
  OnGpu([](const Gpu& cuda) {
    uint64_t ns = 500 * kMs;
    void* arguments[] = {&ns};
    EXPECT_EQ(
        CALL(cuLaunchKernel_ptsz)(cuda.Spin(), 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
        CUDA_SUCCESS);
    EXPECT_EQ(cuda.As<CUresult(CUstream)>("cuStreamQuery")(nullptr), CUDA_SUCCESS);
    auto* query = cuda.As<CUresult(CUstream)>("cuStreamQuery_ptsz");
    EXPECT_EQ(query(nullptr), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(query(reinterpret_cast<CUstream>(2)), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(CALL(cuStreamSynchronize_ptsz)(nullptr), CUDA_SUCCESS);
  });
}

TEST_F(StreamsTest, EveryWayOfLaunchingTakesTheSameTime) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    uint64_t ns = kMs;
    void* arguments[] = {&ns};
    size_t bytes = sizeof ns;
    void* extra[] = {reinterpret_cast<void*>(1), &ns, reinterpret_cast<void*>(2), &bytes, nullptr};
    EXPECT_EQ(CALL(cuLaunchKernel)(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
              CUDA_SUCCESS);
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    EXPECT_EQ(CALL(cuLaunchKernelEx)(&config, spin, arguments, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuLaunchCooperativeKernel)(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments),
              CUDA_SUCCESS);
    CUDA_LAUNCH_PARAMS one{spin, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments};
    EXPECT_EQ(CALL(cuLaunchCooperativeKernelMultiDevice)(&one, 1, 0), CUDA_ERROR_INVALID_HANDLE)
        << "in a default stream";
    one.hStream = cuda.NewStream();
    EXPECT_EQ(CALL(cuLaunchCooperativeKernelMultiDevice)(&one, 1, 0), CUDA_SUCCESS);
    auto* set = cuda.As<CUresult(CUfunction, int, void*, unsigned)>("cuParamSetv");
    EXPECT_EQ(set(spin, 0, &ns, sizeof ns), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuLaunch)(spin), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuLaunchGrid)(spin, 2, 2), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuLaunchGridAsync)(spin, 2, 2, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_EQ(CALL(fakecuda_busy)(cuda.Uuid().c_str(), 0), 7 * kMs);
  });
}

TEST_F(StreamsTest, ALaunchThatIsNoneIsRefused) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    uint64_t ns = 1;
    void* arguments[] = {&ns};
    EXPECT_EQ(CALL(cuLaunchKernel)(spin, 0, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuLaunchKernel)(spin, 1, 1, 1, 32, 33, 1, 0, nullptr, arguments, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(CALL(cuLaunchKernel)(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
              CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(CALL(cuLaunchKernel)(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    CUmodule module = nullptr;
    EXPECT_EQ(CALL(cuModuleLoadData)(&module, "nothing"), CUresult{200});
  });
}

TEST_F(StreamsTest, AModulesGlobalsAreMemoryOfTheDevice) {
  OnGpu([](const Gpu& cuda) {
    CUmodule module = nullptr;
    const char* text = ".global .align 4 .b8 table[8388608];\n.visible .entry spin() {}";
    EXPECT_EQ(CALL(cuModuleLoadData)(&module, text), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 8U);
    EXPECT_EQ(CALL(cuModuleUnload)(module), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 0U);
  });
}

TEST_F(StreamsTest, AModuleMayBeAFatBinaryOfPtx) {
  OnGpu([](const Gpu& cuda) {
    std::string image("\x50\xED\x55\xBA\x01\x00\x10\x00", 8);  // the fake ignores the rest
    image.append(8, '\0');
    image += std::string("\x01\x00\x01\x01\x40\x00\x00\x00", 8) + std::string(56, '\0');
    image += ".global .align 4 .b8 table[8388608];\n";
    CUmodule module = nullptr;
    EXPECT_EQ(CALL(cuModuleLoadFatBinary)(&module, image.c_str()), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Resident(), 8U);
    image[16] = 2;  // no PTX
    EXPECT_EQ(CALL(cuModuleLoadFatBinary)(&module, image.c_str()), CUresult{200});
  });
}

TEST_F(StreamsTest, AFunctionOfTheHostIsCalledOnceTheWorkBeforeItIsDone) {
  OnGpu([](const Gpu& cuda) {
    std::atomic<uint64_t> called = 0;
    const uint64_t launched = Now();
    EXPECT_EQ(cuda.Launch(cuda.Spin(), 30 * kMs), CUDA_SUCCESS);
    auto* call = cuda.As<CUresult(CUstream, void (*)(void*), void*)>("cuLaunchHostFunc");
    const auto note = [](void* time) { *static_cast<std::atomic<uint64_t>*>(time) = Now(); };
    EXPECT_EQ(call(nullptr, note, &called), CUDA_SUCCESS);
    while (called == 0) usleep(1000);
    EXPECT_GE(called - launched, 30 * kMs);
  });
}

TEST_F(StreamsTest, AStreamWaitsForItsFunctionOfTheHostAndNoOtherDoes) {
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    const CUstream held = cuda.NewStream(), other = cuda.NewStream(), follows = cuda.NewStream();
    std::atomic<bool> let_go = false;
    auto* call = cuda.As<CUresult(CUstream, void (*)(void*), void*)>("cuLaunchHostFunc");
    auto* query = cuda.As<CUresult(CUstream)>("cuStreamQuery");
    auto* wait = cuda.As<CUresult(CUstream, CUevent, unsigned)>("cuStreamWaitEvent");
    const auto await = [](void* flag) {
      while (!*static_cast<std::atomic<bool>*>(flag)) usleep(100);
    };
    EXPECT_EQ(call(held, await, &let_go), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, 5 * kMs, held), CUDA_SUCCESS);
    const CUevent behind = Record(cuda, held);
    EXPECT_EQ(wait(follows, behind, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, 3 * kMs, follows), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, kMs, other), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuStreamSynchronize)(other), CUDA_SUCCESS);
    EXPECT_EQ(query(held), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(query(follows), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(CALL(cuEventQuery)(behind), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(CALL(fakecuda_busy)(cuda.Uuid().c_str(), 0), 1 * kMs);
    const uint64_t from = Now();
    let_go = true;
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventQuery)(behind), CUDA_SUCCESS);
    EXPECT_EQ(CALL(fakecuda_busy)(cuda.Uuid().c_str(), 0), 9 * kMs);
    EXPECT_GE(Now() - from, 8 * kMs);
  });
}

}  // namespace
}  // namespace tessera::fake_cuda
