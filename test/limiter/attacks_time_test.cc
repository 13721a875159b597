// SPDX-License-Identifier: Apache-2.0
// Ways in which a program could take more of a GPU's time than its share, by calls of the driver
// alone.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "limiter/share_test.h"

namespace tessera::limiter {
namespace {

class AttacksTimeTest : public ShareTest {
 protected:
  CUresult Wait() { return library_->As<CUresult()>("cuCtxSynchronize")(); }
  // Teaches the limiter that kernels of this grid are short.
  CUresult Teach(unsigned grid, uint64_t ns = 10'000) {
    for (int i = 0; i < 3; ++i) {
      const CUresult result = SpinOn(grid, ns);
      if (result != CUDA_SUCCESS) return result;
      Wait();
    }
    return CUDA_SUCCESS;
  }
  CUresult SpinOn(unsigned grid, uint64_t ns) {
    void* parameters[] = {&ns};
    return cuLaunchKernel(spin_, grid, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr);
  }
};

TEST_F(AttacksTimeTest, AReleaseOfAContextThatGoesOnLeavesItsLaunchesCharged) {
  Run([&] {
    CUcontext again = nullptr;
    ExpectShare(
        [&] {
          const CUresult result = Spin(50 * kMs);
          cuDevicePrimaryCtxRetain(&again, 0);
          cuDevicePrimaryCtxRelease_v2(0);
          return result;
        },
        50 * kMs, kSaved, 1'000 * kMs);
  });
}

TEST_F(AttacksTimeTest, LaunchesOfAContextThatHasEndedAreCharged) {
  Run([&] {
    ExpectShare(
        [&] {
          CUcontext own = nullptr;
          if (const CUresult made = cuCtxCreate_v2(&own, 0, 0); made != CUDA_SUCCESS) return made;
          Load(*library_);
          const CUresult result = Spin(50 * kMs);
          Wait();
          library_->As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(nullptr);
          EXPECT_EQ(cuCtxDestroy_v2(own), CUDA_SUCCESS);
          return result;
        },
        50 * kMs, kSaved, 1'000 * kMs);
  });
}

TEST_F(AttacksTimeTest, LaunchesThatStillRunWhenTheirContextEndsAreCharged) {
  Run([&] {
    ExpectShare(
        [&] {
          CUcontext own = nullptr;
          if (const CUresult made = cuCtxCreate_v2(&own, 0, 0); made != CUDA_SUCCESS) return made;
          Load(*library_);
          const CUresult result = Spin(50 * kMs);
          EXPECT_EQ(cuCtxDestroy_v2(own), CUDA_SUCCESS);
          return result;
        },
        50 * kMs, kSaved, 1'000 * kMs);
  });
}

TEST_F(AttacksTimeTest, AKernelThatSometimesIsShortGetsNoMoreBesideASibling) {
  const pid_t sibling = Start([&] {
    Spin(kMs);
    for (;;) pause();
  });
  Run([&] {
    SayAlone();
    for (int i = 0; i < 20; ++i) ASSERT_EQ(Teach(8), CUDA_SUCCESS);
    // The limiter lets 200 ms of unexplained time pass. Sampling and late measurements add to that.
    ExpectShare(
        [&] {
          SayAlone();
          const CUresult result = Spin(2 * kMs);
          return result == CUDA_SUCCESS ? Wait() : result;
        },
        300 * kMs, 0, 1'500 * kMs);
  });
  kill(sibling, SIGKILL);
  waitpid(sibling, nullptr, 0);
}

TEST_F(AttacksTimeTest, WhoCountsItsLaunchesDoesNotFindThoseThatAreNotMeasured) {
  Run([&] {
    SayAlone();
    ASSERT_EQ(Teach(8), CUDA_SUCCESS);
    uint32_t launch = 1;
    ExpectShare(
        [&] {
          SayAlone();
          const bool is_turn = ++launch * 0x9e3779b9u >> 28 == 0;
          const CUresult result = Spin(is_turn ? 10'000 : 2 * kMs);
          return result == CUDA_SUCCESS ? Wait() : result;
        },
        150 * kMs, 0, 1'500 * kMs);
  });
}

TEST_F(AttacksTimeTest, NewKernelsThatAreFirstShortAndThenLong) {
  Run([&] {
    unsigned grid = 10;
    ExpectShare(
        [&] {
          SayAlone();
          const CUresult result = Teach(++grid);
          return result == CUDA_SUCCESS ? SpinOn(grid, 2 * kMs) : result;
        },
        150 * kMs, 0, 1'500 * kMs);
  });
}

}  // namespace
}  // namespace tessera::limiter
