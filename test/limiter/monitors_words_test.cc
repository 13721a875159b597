// SPDX-License-Identifier: Apache-2.0
// Limits that HAMi's monitor writes into the region while a process runs. They hold from then on,
// unless the container's limits come from a limits file.
#include "limiter/share_test.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class MonitorsWordsTest : public ShareTest {
 protected:
  MonitorsWordsTest() { limits_.devices[0].bytes = 1024 * kMiB; }
  void TakeLimitsFromAFile() {
    limits_.source = Source::kFile;
    std::strcpy(limits_.devices[0].uuid, kUuid);
  }
  // The total memory in MiB that the driver reports to the program.
  static uint64_t ToldTotal() {
    size_t free = 0, total = 0;
    EXPECT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    return total / kMiB;
  }
  static CUresult Allocate(uint64_t mib) {
    CUdeviceptr pointer = 0;
    return cuMemAlloc_v2(&pointer, mib * kMiB);
  }
  // The limiter reads shares once a second.
  void LaunchForASecond() {
    for (const uint64_t from = fake_cuda::Now(); fake_cuda::Now() - from < 1'100 * kMs;) {
      ASSERT_EQ(Spin(2 * kMs), CUDA_SUCCESS);
    }
  }
};

TEST_F(MonitorsWordsTest, ALimitOfMemoryHoldsFromWhenItIsWritten) {
  Run([&] {
    EXPECT_EQ(ToldTotal(), 1024u);
    ASSERT_EQ(Allocate(400), CUDA_SUCCESS);
    TheRegion()->hami.limit[0] = 512 * kMiB;
    EXPECT_EQ(ToldTotal(), 512u);
    EXPECT_EQ(Allocate(200), CUDA_ERROR_OUT_OF_MEMORY);
    TheRegion()->hami.limit[0] = 2048 * kMiB;
    EXPECT_EQ(Allocate(1600), CUDA_SUCCESS);
    EXPECT_EQ(Allocate(100), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST_F(MonitorsWordsTest, ALimitOfMemoryOfAFileStaysWhateverIsWritten) {
  TakeLimitsFromAFile();
  Run([&] {
    for (const uint64_t mib : {512, 2048}) {
      TheRegion()->hami.limit[0] = mib * kMiB;
      EXPECT_EQ(ToldTotal(), 1024u);
    }
    EXPECT_EQ(Allocate(1000), CUDA_SUCCESS);
    EXPECT_EQ(Allocate(100), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST_F(MonitorsWordsTest, AShareHoldsFromTheNextSecondOn) {
  limits_.devices[0].cores = 0;
  Run([&] {
    ASSERT_EQ(Spin(2 * kMs), CUDA_SUCCESS);
    EXPECT_TRUE(IsUntouched());
    TheRegion()->hami.sm_limit[0] = 30;
    LaunchForASecond();
    EXPECT_FALSE(IsUntouched());
    library_->As<CUresult()>("cuCtxSynchronize")();
    ExpectShare([&] { return Spin(2 * kMs); }, 2 * kMs, 0, 600 * kMs);
    TheRegion()->hami.sm_limit[0] = 100;
    LaunchForASecond();
    const uint64_t used = TheRegion()->accounting.times[0].used;
    for (int i = 0; i < 20; ++i) ASSERT_EQ(Spin(2 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(TheRegion()->accounting.times[0].used, used);
  });
}

TEST_F(MonitorsWordsTest, AShareOfAFileStaysWhateverIsWritten) {
  TakeLimitsFromAFile();
  Run([&] {
    TheRegion()->hami.sm_limit[0] = 100;
    TheRegion()->hami.utilization_switch = 0;
    LaunchForASecond();
    ExpectShare([&] { return Spin(2 * kMs); }, 2 * kMs, 0, 600 * kMs);
  });
}

TEST_F(MonitorsWordsTest, TheSwitchOfAMonitorThatIsGoneIsTakenBackWithinASecond) {
  limits_.core_policy = CorePolicy::kDefault;
  Run([&] {
    TheRegion()->hami.recent_kernel = 2;
    TheRegion()->accounting.monitor_at = 1;
    TheRegion()->hami.utilization_switch = 0;
    LaunchForASecond();
    EXPECT_EQ(TheRegion()->hami.utilization_switch, 1);
    EXPECT_FALSE(IsUntouched());
  });
}

}  // namespace
}  // namespace tessera::limiter
