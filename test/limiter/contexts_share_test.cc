// SPDX-License-Identifier: Apache-2.0
// A launch is charged to the GPU of its stream and measured in the stream's context, whichever
// context is current.
#include "limiter/devices_test.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kLong = 20 * kMs;

class ContextsShareTest : public DevicesTest {
 protected:
  // Runs in a container with 10 percent of both GPUs.
  template <typename Body>
  void RunLimited(Body body) {
    SetShares(10, 10);
    Run(body);
  }
  // Launches over and over: GPU `at` may be busy for about a tenth of the time.
  template <typename Launch>
  void ExpectTenth(size_t at, Launch launch) {
    const uint64_t from = fake_cuda::Now();
    const Both before = BusyOnBoth();
    while (fake_cuda::Now() - from < 1'000 * kMs) ASSERT_EQ(launch(), CUDA_SUCCESS);
    const Both now = BusyOnBoth();
    EXPECT_LE(SharesSince(from, before, now, kLong)[at], 12u);
    EXPECT_GE(now[at] - before[at], 50 * kMs) << "it ran at all";
  }
  // Another context of the first GPU, with a kernel and a stream of its own.
  Device NewContext() {
    Device device;
    EXPECT_EQ(cuCtxCreate_v2(&device.context, 0, 0), CUDA_SUCCESS);
    Load(*library_);
    device.spin = spin_;
    device.stream = NewStream();
    MakeCurrent(devices_[0]);
    return device;
  }
};

TEST_F(ContextsShareTest, OfAnotherContextOfTheGpu) {
  RunLimited([&] {
    PrepareBoth();
    const Device other = NewContext();
    ExpectTenth(0, [&] { return Spin(other, kLong); });
  });
}

TEST_F(ContextsShareTest, OfAnotherGpu) {
  RunLimited([&] {
    PrepareBoth();
    ExpectTenth(1, [&] { return Spin(devices_[1], kLong); });
  });
}

TEST_F(ContextsShareTest, OfAnotherGpuWhereTheCurrentOneIsNotLimited) {
  SetShares(0, 10);
  Run([&] {
    PrepareBoth();
    ExpectTenth(1, [&] { return Spin(devices_[1], kLong); });
  });
}

TEST_F(ContextsShareTest, GraphsToo) {
  RunLimited([&] {
    PrepareBoth();
    const Device other = NewContext();
    MakeCurrent(other);
    BeginCapture(other.stream);
    ASSERT_EQ(Spin(other, kLong), CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, EndCapture(other.stream), 0), CUDA_SUCCESS);
    MakeCurrent(devices_[0]);
    ExpectTenth(0, [&] { return cuGraphLaunch(exec, other.stream); });
  });
}

TEST_F(ContextsShareTest, AWaitForAStreamIsOneForWhatRanThere) {
  RunLimited([&] {
    PrepareBoth();
    ASSERT_EQ(Spin(devices_[1], kLong), CUDA_SUCCESS);
    const InFlight& in_flight = TheRegion()->accounting.in_flight[OwnSlot()][1];
    EXPECT_NE(in_flight.since, 0u);
    ASSERT_EQ(cuStreamSynchronize(devices_[1].stream), CUDA_SUCCESS);
    EXPECT_EQ(in_flight.since, 0u);
  });
}

// Each context has its own default stream. Few launches in a stream are measured; only a wait for
// this stream shows that the others are done.
TEST_F(ContextsShareTest, TheDefaultStreamOfOneContextTellsNothingOfAnothers) {
  RunLimited([&] {
    PrepareBoth();
    const Device other = NewContext();
    const InFlight& in_flight = TheRegion()->accounting.in_flight[OwnSlot()][0];
    for (const auto& [own, foreign] : {std::pair{devices_[0], other}, {other, devices_[0]}}) {
      int kept = 0;
      // Several rounds: a last launch that is measured shows its end by itself.
      for (int i = 0; i < 8; ++i) {
        MakeCurrent(own);
        for (int k = 0; k < 40; ++k) {
          ASSERT_EQ(Launch(own.spin, 10'000, nullptr), CUDA_SUCCESS);
        }
        // The driver's own function: the launches are done, and the limiter did not see the wait.
        const auto await = library_->As<decltype(cuStreamSynchronize)>("cuStreamSynchronize");
        ASSERT_EQ(await(nullptr), CUDA_SUCCESS);
        MakeCurrent(foreign);
        ASSERT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
        if (in_flight.since != 0) ++kept;
        MakeCurrent(own);
        ASSERT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
        EXPECT_EQ(in_flight.since, 0u);
      }
      EXPECT_NE(kept, 0);
    }
  });
}

}  // namespace
}  // namespace tessera::limiter
