// SPDX-License-Identifier: Apache-2.0
// Every function that waits for launches, or asks until they are done. After it none is in flight,
// for which the process's end would be charged.
#include <functional>
#include <vector>

#include "limiter/share_test.h"

namespace tessera::limiter {
namespace {

class WaitsTest : public ShareTest {
 protected:
  // A way to wait for a launch.
  struct Way {
    const char* name;
    bool is_per_thread;  // in which of the default streams the launch is
    std::function<CUresult()> wait;
  };

  static CUresult Until(const std::function<CUresult()>& done) {
    CUresult result = CUDA_ERROR_NOT_READY;
    while (result == CUDA_ERROR_NOT_READY) result = done();
    return result;
  }
  std::vector<Way> OfStreams() {
    return {
        {"cuCtxSynchronize", false, [] { return cuCtxSynchronize(); }},
        {"cuCtxSynchronize_v2", false, [this] { return cuCtxSynchronize_v2(context_); }},
        {"cuCtxSynchronize_v2 of null", false, [] { return cuCtxSynchronize_v2(nullptr); }},
        {"cuStreamSynchronize", false, [] { return cuStreamSynchronize(nullptr); }},
        {"cuStreamSynchronize_ptsz", true, [] { return cuStreamSynchronize_ptsz(nullptr); }},
        {"cuStreamQuery", false, [] { return Until([] { return cuStreamQuery(nullptr); }); }},
        {"cuStreamQuery_ptsz", true,
         [] { return Until([] { return cuStreamQuery_ptsz(nullptr); }); }},
        {"cuMemcpyDtoH", false, [this] { return cuMemcpyDtoH(&byte_, 1, 1); }},
        {"cuMemcpyDtoH_v2", false, [this] { return cuMemcpyDtoH_v2(&byte_, memory_, 1); }},
        {"cuMemcpyDtoH_v2_ptds", true, [this] { return cuMemcpyDtoH_v2_ptds(&byte_, memory_, 1); }},
    };
  }
  // An event behind the launches in the default stream.
  CUevent Record() {
    CUevent event = nullptr;
    EXPECT_EQ(library_->As<decltype(cuEventCreate)>("cuEventCreate")(&event, 0), CUDA_SUCCESS);
    EXPECT_EQ(library_->As<decltype(cuEventRecord)>("cuEventRecord")(event, nullptr), CUDA_SUCCESS);
    return event;
  }
  std::vector<Way> OfEvents() {
    return {
        {"cuEventSynchronize", false, [this] { return cuEventSynchronize(Record()); }},
        {"cuEventQuery", false,
         [this] {
           const CUevent event = Record();
           return Until([event] { return cuEventQuery(event); });
         }},
    };
  }
  void ExpectNothingInFlight(const Way& way, int launches, uint64_t ns) {
    SCOPED_TRACE(way.name);
    const InFlight& in_flight = TheRegion()->accounting.in_flight[OwnSlot()][0];
    void* parameters[] = {&ns};
    const auto launch = way.is_per_thread ? cuLaunchKernel_ptsz : cuLaunchKernel;
    for (int i = 0; i < launches; ++i) {
      ASSERT_EQ(launch(spin_, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    }
    EXPECT_NE(in_flight.since, 0u);
    ASSERT_EQ(way.wait(), CUDA_SUCCESS);
    EXPECT_EQ(in_flight.since, 0u);
    EXPECT_EQ(in_flight.taken, 0);
  }
  void Allocate() { ASSERT_EQ(cuMemAlloc_v2(&memory_, 1), CUDA_SUCCESS); }

  CUdeviceptr memory_ = 0;
  char byte_ = 0;
};

TEST_F(WaitsTest, EveryWayToWaitTellsThatWhatWasMeasuredIsDone) {
  Run([&] {
    Allocate();
    for (const Way& way : OfStreams()) ExpectNothingInFlight(way, 1, 2 * kMs);
    for (const Way& way : OfEvents()) ExpectNothingInFlight(way, 1, 2 * kMs);
  });
}

// The limiter measures one in sixteen of these short kernels.
TEST_F(WaitsTest, EveryWayToWaitForAStreamTellsThatWhatWasNotMeasuredIsDone) {
  Run([&] {
    Allocate();
    for (const Way& way : OfStreams()) ExpectNothingInFlight(way, 40, 10'000);
  });
}

}  // namespace
}  // namespace tessera::limiter
