// SPDX-License-Identifier: Apache-2.0
// How several processes share a card's time.
#include <csignal>
#include <fstream>

#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class EngineTest : public CudaTest {
 protected:
  // Starts a process that launches `kernels`, reports that, waits for them, and then for its end.
  pid_t Worker(int kernels, uint64_t ns, int (&told)[2]) {
    EXPECT_EQ(pipe(told), 0);
    return node_.Start([this, kernels, ns, &told](const Library& library) {
      const Gpu cuda(library);
      const CUfunction spin = cuda.Spin();
      for (int i = 0; i < kernels; ++i) EXPECT_EQ(cuda.Launch(spin, ns), CUDA_SUCCESS);
      Tell(told);
      EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
      End();
      Tell(told);
      pause();
    });
  }
  static void Tell(int (&told)[2]) { EXPECT_EQ(write(told[1], "x", 1), 1); }
  static void Hear(int (&told)[2]) {
    char byte = 0;
    EXPECT_EQ(read(told[0], &byte, 1), 1);
  }
  void End1(pid_t child) {
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
  }
};

TEST_F(EngineTest, WhoComesFirstIsServedFirst) {
  int told[2];
  const pid_t other = Worker(10, 10 * kMs, told);
  Hear(told);
  OnGpu([&](const Gpu& cuda) {
    const uint64_t launched = Now();
    EXPECT_EQ(cuda.Launch(cuda.Spin(), 10 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    const uint64_t took = Now() - launched;
    EXPECT_EQ(CALL(fakecuda_busy)(cuda.Uuid().c_str(), other), 100 * kMs);
    EXPECT_EQ(CALL(fakecuda_busy)(cuda.Uuid().c_str(), getpid()), 10 * kMs);
    EXPECT_GE(took, 10 * kMs);
  });
  End1(other);
}

TEST_F(EngineTest, KernelsOfClientsOfMpsRunAtTheSameTime) {
  std::ofstream(node_.directory() + "/control") << "";
  node_.Set("CUDA_MPS_PIPE_DIRECTORY", node_.directory());
  node_.Set("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50");
  int told[2];
  const pid_t other = Worker(1, 60'000 * kMs, told);
  Hear(told);
  OnGpu([&](const Gpu& cuda) {
    const uint64_t launched = Now();
    EXPECT_EQ(cuda.Launch(cuda.Spin(), 10 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_GE(Now() - launched, 20 * kMs) << "on half of the multiprocessors";
    EXPECT_LT(Now() - launched, 60'000 * kMs);
    int count = 0;
    EXPECT_EQ(CALL(cuDeviceGetAttribute)(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(count, 20);
  });
  End1(other);
}

TEST_F(EngineTest, InTurnsAShortKernelDoesNotWaitForALongQueue) {
  Options("context-mib=0,slice-us=2000");
  int told[2];
  const pid_t other = Worker(100, 100 * kMs, told);
  Hear(told);
  OnGpu([&](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    const uint64_t launched = Now();
    EXPECT_EQ(cuda.Launch(spin, 10 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    const uint64_t took = Now() - launched;
    EXPECT_GE(took, 18 * kMs);  // five time slices, with the other process's between
    EXPECT_LT(CALL(fakecuda_busy)(cuda.Uuid().c_str(), other), 9'000 * kMs);
    EXPECT_EQ(CALL(fakecuda_busy)(cuda.Uuid().c_str(), getpid()), 10 * kMs);
  });
  End1(other);
}

TEST_F(EngineTest, InTurnsTheTimeBetweenEventsHasTheOthersTurnsInIt) {
  Options("context-mib=0,slice-us=2000");
  int told[2];
  const pid_t other = Worker(100, 100 * kMs, told);
  Hear(told);
  OnGpu([&](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    EXPECT_EQ(cuda.Launch(spin, 200 * kMs), CUDA_SUCCESS);  // all is queued before its end
    CUevent events[3];
    for (CUevent& event : events) {
      EXPECT_EQ(CALL(cuEventCreate)(&event, 0), CUDA_SUCCESS);
      EXPECT_EQ(CALL(cuEventRecord)(event, nullptr), CUDA_SUCCESS);
      EXPECT_EQ(cuda.Launch(spin, 4 * kMs), CUDA_SUCCESS);
    }
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    float ms = 0;
    EXPECT_EQ(CALL(cuEventElapsedTime)(&ms, events[1], events[2]), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(ms, 8);
  });
  End1(other);
}

TEST_F(EngineTest, InTurnsAProcessAloneHasTheWholeCard) {
  Options("context-mib=0,slice-us=2000");
  OnGpu([&](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    const uint64_t launched = Now();
    CUevent start = nullptr;
    CUevent end = nullptr;
    EXPECT_EQ(CALL(cuEventCreate)(&start, 0), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventCreate)(&end, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.Launch(spin, 400 * kMs), CUDA_SUCCESS);  // all is queued before its end
    EXPECT_EQ(CALL(cuEventRecord)(start, nullptr), CUDA_SUCCESS);
    for (int i = 0; i < 9; ++i) EXPECT_EQ(cuda.Launch(spin, 5 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventRecord)(end, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_GE(Now() - launched, 445 * kMs);
    float ms = 0;
    EXPECT_EQ(CALL(cuEventElapsedTime)(&ms, start, end), CUDA_SUCCESS);
    EXPECT_FLOAT_EQ(ms, 45);
  });
}

TEST_F(EngineTest, InTurnsAKilledProcessLosesItsTurn) {
  Options("context-mib=0,slice-us=2000,late-ms=0");
  int told[2];
  const pid_t other = Worker(1000, 100 * kMs, told);
  Hear(told);
  End1(other);
  OnGpu([&](const Gpu& cuda) {
    EXPECT_EQ(cuda.Launch(cuda.Spin(), 1'000 * kMs), CUDA_SUCCESS);
    const uint64_t launched = Now();
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_LT(Now() - launched, 1'950 * kMs);
  });
}

TEST_F(EngineTest, KernelsTakeLongerByChanceUpToSoMuch) {
  Options("context-mib=0,jitter=50");
  OnGpu([](const Gpu& cuda) {
    const CUfunction spin = cuda.Spin();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(cuda.Launch(spin, 100'000), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    const uint64_t busy = CALL(fakecuda_busy)(cuda.Uuid().c_str(), 0);
    EXPECT_GT(busy, 11 * kMs);
    EXPECT_LT(busy, 14 * kMs);
  });
}

TEST_F(EngineTest, ALaunchWaitsWhileAsManyWaitAsTheDriverTakes) {
  for (const char* options : {"context-mib=0", "context-mib=0,slice-us=2000"}) {
    Options(options);
    OnGpu([](const Gpu& cuda) {
      const CUfunction spin = cuda.Spin();
      const uint64_t launched = Now();
      EXPECT_EQ(cuda.Launch(spin, 1'000 * kMs), CUDA_SUCCESS);
      for (unsigned i = 1; i < kQueue; ++i) EXPECT_EQ(cuda.Launch(spin, 1000), CUDA_SUCCESS);
      EXPECT_EQ(cuda.Launch(spin, 1000), CUDA_SUCCESS);
      EXPECT_LT(Now() - launched, 1'000 * kMs);
      EXPECT_EQ(cuda.Launch(spin, 1000), CUDA_SUCCESS);
      EXPECT_GE(Now() - launched, 1'000 * kMs);
    });
  }
}

}  // namespace
}  // namespace tessera::fake_cuda
