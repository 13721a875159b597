// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/monitor.h"

#include <gtest/gtest.h>

#include <ctime>
#include <thread>

namespace tessera::limiter {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// A clock that advances when a thread sleeps; the test decides what happens in between.
uint64_t now_ = 0;
void (*meanwhile_)() = nullptr;
Region* region_at_ = nullptr;
constexpr Clock kOwnClock{[] { return now_; },
                          [](uint64_t ns) {
                            now_ += ns;
                            if (meanwhile_ != nullptr) meanwhile_();
                          }};

class MonitorTest : public testing::Test {
 protected:
  MonitorTest() {
    now_ = 1'000 * kSecond;
    meanwhile_ = nullptr;
    region_at_ = region_.get();
  }
  // Seconds that a launch waits.
  uint64_t Await() {
    const uint64_t began = now_;
    AwaitMonitor(region_.get(), kOwnClock);
    EXPECT_EQ(hami_->recent_kernel, 2);
    return (now_ - began) / kSecond;
  }

  // The first launch of a second comes after so many ns; returns the switch that it then finds.
  int32_t SwitchAfter(uint64_t ns) {
    now_ += ns;
    EXPECT_TRUE(MarkRecentKernel(region_.get(), kOwnClock));
    LookForMonitor(region_.get(), kOwnClock);
    return hami_->utilization_switch;
  }

  std::unique_ptr<Region> region_{new Region()};
  HamiRegion* const hami_ = &region_->hami;
  std::unique_ptr<Usage> usage_{new Usage()};
  HamiUtilization shown_{};
};

TEST_F(MonitorTest, ALaunchSaysThatAKernelIsRecent) {
  for (const int32_t seen : {0, 1, 2}) {
    hami_->recent_kernel = seen;
    EXPECT_TRUE(MarkRecentKernel(region_.get()));
    EXPECT_EQ(hami_->recent_kernel, 2);
  }
}

TEST_F(MonitorTest, ABlockIsNeverWrittenOver) {
  hami_->recent_kernel = -1;
  EXPECT_FALSE(MarkRecentKernel(region_.get()));
  EXPECT_EQ(hami_->recent_kernel, -1);
}

TEST_F(MonitorTest, ABlockLastsUntilTheMonitorTakesItBack) {
  hami_->recent_kernel = -1;
  std::thread launch([&] { AwaitMonitor(region_.get()); });
  __atomic_store_n(&hami_->recent_kernel, 1, __ATOMIC_RELAXED);
  launch.join();
  EXPECT_EQ(hami_->recent_kernel, 2);
}

TEST_F(MonitorTest, TheBlockOfADeadMonitorIsTakenBackAfterFifteenSecondsAndEndsARoundLater) {
  for (const int32_t word : {-1, -7}) {
    hami_->recent_kernel = word;
    meanwhile_ = [] {
      const bool is_over = now_ - region_at_->accounting.unblocked_at >= 6 * kSecond;
      if (region_at_->hami.recent_kernel == 0 && !is_over) {
        EXPECT_FALSE(MarkRecentKernel(region_at_, kOwnClock)) << "nor does another launch pass";
      }
    };
    EXPECT_EQ(Await(), 21u);
    EXPECT_EQ(now_ - region_->accounting.unblocked_at, 6 * kSecond);
    meanwhile_ = nullptr;
    EXPECT_EQ(Await(), 0u) << "the next one";
  }
}

TEST_F(MonitorTest, TheBlockOfALiveMonitorLastsAsLongAsItWrites) {
  hami_->recent_kernel = -1;
  meanwhile_ = [] {
    const uint64_t second = now_ / kSecond - 1'000;
    const bool is_round = now_ % (5 * kSecond) == 0;
    if (is_round && second < 100) region_at_->hami.recent_kernel = -1;
    if (is_round && second == 110) region_at_->hami.recent_kernel = 0;
  };
  // At 105 s it was still blocked, and between its rounds no launch passed.
  const uint64_t waited = Await();
  EXPECT_GE(waited, 101u);
  EXPECT_LE(waited, 117u);
}

TEST_F(MonitorTest, TheSwitchOfAMonitorThatWritesNothingForFifteenSecondsIsOnAgain) {
  hami_->utilization_switch = 0;
  hami_->recent_kernel = 2;
  EXPECT_EQ(SwitchAfter(0), 0) << "from the first look on";
  EXPECT_EQ(SwitchAfter(14 * kSecond), 0);
  EXPECT_EQ(SwitchAfter(1 * kSecond), 1);
}

TEST_F(MonitorTest, TheSwitchOfALiveMonitorStaysHoweverRareLaunchesAre) {
  hami_->utilization_switch = 0;
  for (const int32_t word : {1, 1, 0, 1}) {  // as it counts a recent kernel down
    hami_->recent_kernel = word;
    EXPECT_EQ(SwitchAfter(14 * kSecond), 0);
  }
  hami_->recent_kernel = 0;
  EXPECT_EQ(SwitchAfter(3'600 * kSecond), 0) << "after an hour without launches";
}

TEST_F(MonitorTest, AMonitorThatComesBackHasItsSwitchAgain) {
  hami_->utilization_switch = 0;
  SwitchAfter(0);
  EXPECT_EQ(SwitchAfter(60 * kSecond), 1);

  hami_->recent_kernel = 1;
  hami_->utilization_switch = 0;

  EXPECT_EQ(SwitchAfter(5 * kSecond), 0);
}

TEST_F(MonitorTest, WhatWasWrittenBeforeAMachineBeganAnewSaysNothingOfTheMonitor) {
  hami_->utilization_switch = 0;
  hami_->recent_kernel = 2;
  region_->accounting.monitor_at = now_ + 100 * kSecond;

  EXPECT_EQ(SwitchAfter(0), 1);
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
  EXPECT_EQ(MarkKernelTime(hami_, &said), SinceLast::kAnotherSecond);
  EXPECT_EQ(hami_->last_kernel_time, said >> 6);
  EXPECT_GE(hami_->last_kernel_time, before - 1);
  EXPECT_LE(hami_->last_kernel_time, time(nullptr));
}

TEST_F(MonitorTest, SixtyTimesASecondALaunchIsLaterThanTheLastOne) {
  std::atomic<int64_t> said{0};
  int later = 0, seconds = 0;
  while (seconds < 2) {
    const SinceLast when = MarkKernelTime(hami_, &said);
    if (when == SinceLast::kAnotherSecond) ++seconds;
    if (when == SinceLast::kLater && seconds == 1) ++later;
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
