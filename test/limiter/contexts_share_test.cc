// SPDX-License-Identifier: Apache-2.0
// What is launched into a stream is of the share of the stream's GPU, and measured in the stream's
// context, whichever context is current.
#include "limiter/devices_test.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kLong = 20 * kMs;

class ContextsShareTest : public DevicesTest {
 protected:
  // Of a container of 10 percent of both.
  template <typename Body>
  void RunLimited(Body body) {
    SetShares(10, 10);
    Run(body);
  }
  // What GPU `at` is busy for while it is launched over and over: a tenth of the time.
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

// Each context has a default stream. Of what runs in one few launches are measured; that the others
// are done tells a wait for it.
TEST_F(ContextsShareTest, TheDefaultStreamOfOneContextTellsNothingOfAnothers) {
  RunLimited([&] {
    PrepareBoth();
    const Device other = NewContext();
    const InFlight& in_flight = TheRegion()->accounting.in_flight[OwnSlot()][0];
    for (const auto& [own, foreign] : {std::pair{devices_[0], other}, {other, devices_[0]}}) {
      int kept = 0;
      // The last launch may be one that is measured.
      for (int i = 0; i < 8; ++i) {
        MakeCurrent(own);
        for (int k = 0; k < 40; ++k) {
          ASSERT_EQ(Launch(own.spin, 10'000, nullptr), CUDA_SUCCESS);
        }
        // Done, and nobody told.
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
