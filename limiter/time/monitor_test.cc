// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/monitor.h"

#include <gtest/gtest.h>

#include <ctime>
#include <thread>

namespace tessera::limiter {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

class MonitorTest : public testing::Test {
 protected:
  std::unique_ptr<HamiRegion> hami_{new HamiRegion()};
  std::unique_ptr<Usage> usage_{new Usage()};
  HamiUtilization shown_{};
};

TEST_F(MonitorTest, ALaunchSaysThatAKernelIsRecent) {
  hami_->recent_kernel = 0;
  EXPECT_TRUE(SayRecent(hami_.get()));
  EXPECT_EQ(hami_->recent_kernel, 2);
}

TEST_F(MonitorTest, ABlockIsNeverWrittenOver) {
  hami_->recent_kernel = -1;
  EXPECT_FALSE(SayRecent(hami_.get()));
  EXPECT_EQ(hami_->recent_kernel, -1);
}

TEST_F(MonitorTest, ABlockLastsUntilTheMonitorTakesItBack) {
  hami_->recent_kernel = -1;
  std::thread launch([&] { AwaitMonitor(hami_.get()); });
  __atomic_store_n(&hami_->recent_kernel, 1, __ATOMIC_RELAXED);
  launch.join();
  EXPECT_EQ(hami_->recent_kernel, 2);
}

TEST_F(MonitorTest, TheBlockOfADeadMonitorEnds) {
  hami_->recent_kernel = -1;
  AwaitMonitor(hami_.get(), 0);
  EXPECT_EQ(hami_->recent_kernel, 2);
}

TEST_F(MonitorTest, LimitsHoldByPolicyOrByTheMonitorsSwitch) {
  for (const int32_t on : {0, 1}) {
    hami_->utilization_switch = on;
    EXPECT_EQ(Holds(CorePolicy::kDefault, *hami_), on == 1);
    EXPECT_TRUE(Holds(CorePolicy::kForce, *hami_));
    EXPECT_FALSE(Holds(CorePolicy::kDisable, *hami_));
  }
}

TEST_F(MonitorTest, TheLastKernelsTimeIsInSeconds) {
  const int64_t before = time(nullptr);
  std::atomic<int64_t> said{0};
  EXPECT_EQ(SayWhen(hami_.get(), &said), When::kAnotherSecond);
  EXPECT_EQ(hami_->last_kernel_time, said >> 6);
  EXPECT_GE(hami_->last_kernel_time, before - 1);
  EXPECT_LE(hami_->last_kernel_time, time(nullptr));
}

TEST_F(MonitorTest, SixtyTimesASecondALaunchIsLaterThanTheLastOne) {
  std::atomic<int64_t> said{0};
  int later = 0, seconds = 0;
  while (seconds < 2) {
    const When when = SayWhen(hami_.get(), &said);
    if (when == When::kAnotherSecond) ++seconds;
    if (when == When::kLater && seconds == 1) ++later;
  }
  EXPECT_LE(later, 59);
}

TEST_F(MonitorTest, WhatWasUsedOfASecondIsShown) {
  usage_->Add(1, kSecond, &shown_);
  usage_->Add(kSecond / 2, 3 * kSecond / 2, &shown_);
  EXPECT_EQ(shown_.sm, 0u) << "the second is not over";
  usage_->Add(kSecond / 10, 2 * kSecond, &shown_);
  EXPECT_EQ(shown_.sm, 60u);
  usage_->Add(0, 3 * kSecond, &shown_);
  EXPECT_EQ(shown_.sm, 0u);
}

}  // namespace
}  // namespace tessera::limiter
