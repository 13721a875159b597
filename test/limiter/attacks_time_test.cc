// SPDX-License-Identifier: Apache-2.0
// Ways in which a program could take more of a GPU's time than its share, each by calls of the
// driver alone.
#include <gtest/gtest.h>
#include "limiter/share_test.h"

namespace tessera::limiter {
namespace {

class AttacksTimeTest : public ShareTest {
 protected:
  CUresult Wait() { return library_->As<CUresult()>("cuCtxSynchronize")(); }
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

}  // namespace
}  // namespace tessera::limiter
