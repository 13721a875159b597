// SPDX-License-Identifier: Apache-2.0
// The state that the processes of a node share.
#include <csignal>

#include "cuda/cuda_test.h"

namespace tessera::fake_cuda {
namespace {

class StateTest : public CudaTest {
 protected:
  // Starts a process that takes `bytes` and waits to be killed.
  pid_t Holder(uint64_t bytes) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = node_.Start([&](const Library& library) {
      const Gpu cuda(library);
      cuda.Allocate(bytes);
      EXPECT_EQ(write(ready[1], "x", 1), 1);
      pause();
    });
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
  }
  static void Kill(pid_t child) {
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
  }
};

TEST_F(StateTest, ProcessesShareTheMemoryOfACard) {
  const pid_t other = Holder(15000 * kMiB);
  OnGpu([&](const Gpu& cuda) {
    cuda.Allocate(400 * kMiB, CUDA_ERROR_OUT_OF_MEMORY);
    cuda.Allocate(360 * kMiB);
    EXPECT_EQ(cuda.Resident(), 360U);
    EXPECT_EQ(cuda.ResidentOf(other), 15000U);
    EXPECT_EQ(cuda.ResidentOf(0), 15360U);
  });
  Kill(other);
}

TEST_F(StateTest, WhatProcessesTookOfACardIsRememberedWhenTheyHaveEnded) {
  for (const char* options : {"context-mib=0,late-ms=0", "context-mib=0,late-ms=0,slice-us=2000"}) {
    SCOPED_TRACE(options);
    CudaNode node;
    node.Set("TESSERA_FAKE_CUDA_OPTIONS", options);
    const auto spin = [](const Library& library) {
      const Gpu cuda(library);
      EXPECT_EQ(cuda.Launch(cuda.Spin(), 5 * kMs), CUDA_SUCCESS);
      EXPECT_EQ(library.As<CUresult()>("cuCtxSynchronize")(), CUDA_SUCCESS);
    };
    EXPECT_TRUE(node.Run(spin));
    const pid_t killed = node.Start([&](const Library& library) {
      spin(library);
      raise(SIGKILL);
    });
    EXPECT_EQ(waitpid(killed, nullptr, 0), killed);
    EXPECT_TRUE(node.Run([](const Library& library) {
      const Gpu cuda(library);
      if (library.As<uint64_t(const char*, pid_t)>("fakecuda_busy")(cuda.Uuid().c_str(), 0) !=
          10 * kMs) {
        throw std::runtime_error("another time");
      }
    }));
  }
}

TEST_F(StateTest, WhatAKilledProcessHadIsFreeALittleLater) {
  Options("context-mib=0,late-ms=300");
  const pid_t other = Holder(15000 * kMiB);
  OnGpu([&](const Gpu& cuda) {
    EXPECT_EQ(cuda.ResidentOf(other), 15000U);
    kill(other, SIGKILL);
    // Only its grandparent can wait for the process; but its lock goes before it is a zombie.
    const uint64_t killed = Now();
    constexpr uint64_t kLong = 30'000'000'000;
    while (cuda.ResidentOf(other) != 0 && Now() - killed < kLong) usleep(1000);
    const uint64_t took = Now() - killed;
    EXPECT_GE(took, 290'000'000U);
    cuda.Allocate(15000 * kMiB);
  });
  EXPECT_EQ(waitpid(other, nullptr, 0), other);
}

TEST_F(StateTest, WhatAProcessHadIsFreeWhenItEndsWell) {
  Options("context-mib=100,late-ms=1000000");
  InProcess([](const Library& library) {
    const Gpu cuda(library);
    cuda.Allocate(1000 * kMiB);
    EXPECT_EQ(cuda.ResidentOf(0), 1100U);
    End();
    exit(0);  // NOLINT(concurrency-mt-unsafe): as programs end
  });
  OnGpu([](const Gpu& cuda) { EXPECT_EQ(cuda.ResidentOf(0), 100U); });
}

TEST_F(StateTest, AChildThatLivesOnDoesNotKeepWhatItsParentHad) {
  Options("context-mib=0,late-ms=0");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t parent = node_.Start([&](const Library& library) {
    const Gpu cuda(library);
    cuda.Allocate(100 * kMiB);
    const pid_t child = fork();
    if (child == 0) {
      close(ready[1]);
      pause();
    }
    EXPECT_EQ(write(ready[1], &child, sizeof child), ssize_t{sizeof child});
    pause();
  });
  pid_t child = 0;
  ASSERT_EQ(read(ready[0], &child, sizeof child), ssize_t{sizeof child});
  Kill(parent);
  OnGpu([](const Gpu& cuda) { EXPECT_EQ(cuda.ResidentOf(0), 0U); });
  kill(child, SIGKILL);
}

TEST_F(StateTest, AReaderWithoutTheDriverSeesTheSame) {
  const pid_t other = Holder(64 * kMiB);
  const auto state = State::Open(node_.directory(), 0);
  ASSERT_NE(state, nullptr);
  const unsigned card = state->Find("GPU-f132b5ef-756d-4db9-a729-3c7f8b96f3ce");
  ASSERT_LT(card, kMostCards);
  EXPECT_EQ(state->Resident(other, card), 64 * kMiB);
  EXPECT_EQ(state->Find("GPU-none"), kMostCards);
  Kill(other);
  EXPECT_EQ(state->Resident(0, card), 0U);
}

}  // namespace
}  // namespace tessera::fake_cuda
