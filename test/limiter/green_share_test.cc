// SPDX-License-Identifier: Apache-2.0
// Launches in green contexts are charged to the container's share.
#include <gtest/gtest.h>

#include "limiter/share_test.h"

namespace tessera::limiter {
namespace {

class GreenShareTest : public ShareTest {
 protected:
  static CUgreenCtx NewGreen() {
    CUgreenCtx green = nullptr;
    EXPECT_EQ(cuGreenCtxCreate(&green, reinterpret_cast<CUdevResourceDesc>(&green), 0, 1),
              CUDA_SUCCESS);
    return green;
  }
  CUstream StreamOf(CUgreenCtx green) {
    CUstream stream = nullptr;
    using Create = CUresult(CUstream*, CUgreenCtx, unsigned, int);
    EXPECT_EQ(library_->As<Create>("cuGreenCtxStreamCreate")(&stream, green, 1, 0), CUDA_SUCCESS);
    return stream;
  }
  void MakeCurrent(CUgreenCtx green) {
    CUcontext context = context_;
    if (green != nullptr) {
      EXPECT_EQ(cuCtxFromGreenCtx(&context, green), CUDA_SUCCESS);
    }
    EXPECT_EQ(library_->As<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent")(context), CUDA_SUCCESS);
  }
};

TEST_F(GreenShareTest, LaunchesIntoTheStreamOfOneAreOfTheShareWhateverIsCurrent) {
  Run([&] {
    const CUgreenCtx green = NewGreen();
    const CUstream stream = StreamOf(green);
    ExpectShare([&] { return Spin(2 * kMs, stream); }, 2 * kMs);
  });
}

TEST_F(GreenShareTest, LaunchesWhereOneIsCurrentAreOfTheShare) {
  for (const bool in_stream : {false, true}) {
    SCOPED_TRACE(in_stream);
    Run([&] {
      MakeCurrent(NewGreen());
      const CUstream stream = in_stream ? NewStream() : nullptr;
      ExpectShare([&] { return Spin(2 * kMs, stream); }, 2 * kMs);
    });
  }
}

TEST_F(GreenShareTest, LaunchesThatRanWhenItIsDestroyedAreCharged) {
  Run([&] {
    ExpectShare(
        [&] {
          const CUgreenCtx green = NewGreen();
          MakeCurrent(green);
          const CUstream stream = StreamOf(green);
          const CUresult result = Spin(50 * kMs, stream);
          EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
          MakeCurrent(nullptr);
          EXPECT_EQ(cuGreenCtxDestroy(green), CUDA_SUCCESS);
          return result;
        },
        50 * kMs, kSaved, 1'000 * kMs);
  });
}

TEST_F(GreenShareTest, LaunchesThatStillRunWhenItIsDestroyedAreCharged) {
  Run([&] {
    ExpectShare(
        [&] {
          const CUgreenCtx green = NewGreen();
          MakeCurrent(green);
          const CUresult result = Spin(50 * kMs, StreamOf(green));
          MakeCurrent(nullptr);
          EXPECT_EQ(cuGreenCtxDestroy(green), CUDA_SUCCESS);
          return result;
        },
        50 * kMs, kSaved, 1'000 * kMs);
  });
}

TEST_F(GreenShareTest, AWaitWhereOneIsCurrentIsForNothingOfOthers) {
  Run([&] {
    const CUgreenCtx green = NewGreen(), idle = NewGreen();
    const CUstream stream = StreamOf(green);
    // Most of these are not measured, as their kernel's cost is known.
    for (int i = 0; i < 40; ++i) ASSERT_EQ(Spin(10'000, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(Spin(100 * kMs, stream), CUDA_SUCCESS);
    MakeCurrent(idle);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_NE(TheRegion()->accounting.in_flight[OwnSlot()][0].since, 0u) << "it still runs";
    MakeCurrent(nullptr);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(TheRegion()->accounting.in_flight[OwnSlot()][0].since, 0u);
  });
}

}  // namespace
}  // namespace tessera::limiter
