// SPDX-License-Identifier: Apache-2.0
// Programs with a stream that waits for the host, so that launches behind that wait stay
// unfinished.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>

#include "limiter/share_test.h"

namespace tessera::limiter {
namespace {

class AttacksStreamTest : public ShareTest {
 protected:
  // Holds the stream until let_go_ is set.
  void Hold(CUstream stream) {
    using Call = CUresult(CUstream, void (*)(void*), void*);
    const auto await = [](void* flag) {
      while (!*static_cast<std::atomic<bool>*>(flag)) usleep(100);
    };
    ASSERT_EQ(library_->As<Call>("cuLaunchHostFunc")(stream, await, &let_go_), CUDA_SUCCESS);
  }
  // Launches while the agent says that the container has the GPU for itself.
  CUresult SpinOn(unsigned grid, uint64_t ns, CUstream stream) {
    SayAlone();
    void* parameters[] = {&ns};
    return cuLaunchKernel(spin_, grid, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr);
  }
  void Teach(unsigned grid, uint64_t ns, CUstream stream) {
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(SpinOn(grid, ns, stream), CUDA_SUCCESS);
      ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    }
  }
  static double Used() { return static_cast<double>(TheRegion()->accounting.times[0].used); }

  std::atomic<bool> let_go_ = false;
};

TEST_F(AttacksStreamTest, OtherStreamsAreMeasuredWhileOneWaitsForTheHost) {
  Run([&] {
    const CUstream held = NewStream(), other = NewStream();
    Hold(held);
    for (int i = 0; i < 10; ++i) ASSERT_EQ(SpinOn(9, 2 * kMs, held), CUDA_SUCCESS);
    const double before = Used();
    for (int i = 0; i < 5; ++i) {
      ASSERT_EQ(SpinOn(10, 3 * kMs, other), CUDA_SUCCESS);
      ASSERT_EQ(cuStreamSynchronize(other), CUDA_SUCCESS);
    }
    // A launch that is not measured costs 15 ms.
    EXPECT_GE(Used() - before, 5 * 3.0 * kMs - 1.0 * kMs);
    EXPECT_LE(Used() - before, 5 * 3.0 * kMs + kHeldUp);
    let_go_ = true;
  });
}

TEST_F(AttacksStreamTest, WhatWaitedForTheHostIsMeasuredOnceItIsLetGo) {
  Run([&] {
    const CUstream held = NewStream();
    Teach(9, 2 * kMs, held);
    Hold(held);
    for (int i = 0; i < 40; ++i) ASSERT_EQ(SpinOn(9, 5 * kMs, held), CUDA_SUCCESS);
    EXPECT_GE(Used(), 43 * 2.0 * kMs - 2.0 * kMs);
    EXPECT_LE(Used(), 43 * 2.0 * kMs + kHeldUp);
    let_go_ = true;
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_GE(Used(), static_cast<double>(Busy()) - 2.0 * kMs);
    EXPECT_LE(Used(), static_cast<double>(Busy()) + kHeldUp);
  });
}

TEST_F(AttacksStreamTest, NobodyGetsMoreThanItsShareBesideAStreamThatWaits) {
  Run([&] {
    const CUstream held = NewStream(), other = NewStream();
    Teach(9, 2 * kMs, other);
    Hold(held);
    // As many launches as there is room for, then others behind them: more than 1,024 in all.
    for (int i = 0; i < 300; ++i) ASSERT_EQ(SpinOn(9, 2 * kMs, held), CUDA_SUCCESS);
    for (int i = 0; i < 1'000; ++i) ASSERT_EQ(SpinOn(11, 100'000, other), CUDA_SUCCESS);
    ExpectShare([&] { return SpinOn(9, 20 * kMs, other); }, 20 * kMs, kSaved, 1'000 * kMs);
    let_go_ = true;
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_NEAR(Used(), static_cast<double>(Busy()), 60.0 * kMs);
  });
}

}  // namespace
}  // namespace tessera::limiter
