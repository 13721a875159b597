// SPDX-License-Identifier: Apache-2.0
#include "limiter/view/processes.h"

#include <gtest/gtest.h>
#include <time.h>

#include <vector>

#include "limiter/accounting/container_test.h"

namespace tessera::limiter {
namespace {

class ProcessesTest : public Container {
 protected:
  static std::vector<ProcessView> List(uint32_t room = 16) {
    std::vector<ProcessView> processes(room);
    const uint32_t count = ProcessesOf(0, processes.data(), room);
    processes.resize(count < room ? count : room);
    return processes;
  }
  static uint32_t Own() { return static_cast<uint32_t>(getpid()); }
};

TEST_F(ProcessesTest, WhoHoldsSomethingIsListedByItsOwnId) {
  const pid_t other = StartHolding(30 * kMiB);
  const pid_t idle = StartHolding(0);
  InProcess([&] {
    ASSERT_TRUE(JoinWith(limits_));
    ASSERT_EQ(DeviceOf("GPU-aa"), 0);
    EXPECT_EQ(List(), (std::vector<ProcessView>{{static_cast<uint32_t>(other), 30 * kMiB, 0}}));
    ASSERT_TRUE(Reserve(0, 512, Kind::kData));
    EXPECT_EQ(List(), (std::vector<ProcessView>{{static_cast<uint32_t>(other), 30 * kMiB, 0},
                                                {Own(), 512, 0}}));
  });
  Kill(other);
  Kill(idle);
}

TEST_F(ProcessesTest, HowManyThereAreIsSaidWhateverTheRoom) {
  const pid_t other = StartHolding(30 * kMiB);
  InProcess([&] {
    ASSERT_TRUE(JoinWith(limits_));
    ASSERT_TRUE(Reserve(0, 512, Kind::kData));
    EXPECT_EQ(ProcessesOf(0, nullptr, 0), 2U);
    EXPECT_EQ(List(1), (std::vector<ProcessView>{{static_cast<uint32_t>(other), 30 * kMiB, 0}}));
  });
  Kill(other);
}

TEST_F(ProcessesTest, WhatEachGetsOfTheTimeIsAPercentage) {
  const pid_t other = StartHolding(30 * kMiB);
  InProcess([&] {
    ASSERT_TRUE(JoinWith(limits_));
    uint64_t& busy = TheRegion()->hami.slots[0].utilization[0].sm;
    busy = 42;
    EXPECT_EQ(List()[0].busy, 42U);
    busy = UINT64_MAX;
    EXPECT_EQ(List()[0].busy, 100U);
  });
  Kill(other);
}

// By a process that only reads, such as a monitor.
TEST_F(ProcessesTest, TheDeadAreNotListed) {
  InProcess([&] {
    ASSERT_TRUE(JoinWith(limits_));
    Kill(StartHolding(30 * kMiB));
    const auto listed = [] {
      for (int i = 0; i < 50; ++i) {
        if (List().empty()) return false;
        constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 20'000'000};
        nanosleep(&kMoment, nullptr);
      }
      return true;
    };
    EXPECT_FALSE(listed());
  });
}

TEST_F(ProcessesTest, WhoIsAloneListsItself) {
  std::strcpy(limits_.region, "/proc/none/x.cache");
  InProcess([&] {
    ASSERT_FALSE(JoinWith(limits_));
    ASSERT_EQ(WhyAlone(), Trouble::kUnreachable);
    ASSERT_EQ(DeviceOf("GPU-aa"), 0);
    ASSERT_TRUE(Reserve(0, 512, Kind::kData));
    EXPECT_TRUE(KnowsProcesses(0));
    EXPECT_EQ(List(), (std::vector<ProcessView>{{Own(), 512, 0}}));
  });
}

TEST_F(ProcessesTest, WithoutALimitTheRegionIsNotAsked) {
  SetLimit(0);
  InProcess([&] {
    ASSERT_TRUE(JoinWith(limits_));
    ASSERT_EQ(DeviceOf("GPU-aa"), 0);
    EXPECT_FALSE(KnowsProcesses(0));
    EXPECT_FALSE(KnowsProcesses(-1));
  });
  InProcess([] { EXPECT_FALSE(KnowsProcesses(0)) << "did not join"; });
}

TEST_F(ProcessesTest, AShareOfTimeIsALimitToo) {
  SetLimit(0);
  limits_.devices[0].cores = 30;
  InProcess([&] {
    ASSERT_TRUE(JoinWith(limits_));
    ASSERT_EQ(DeviceOf("GPU-aa"), 0);
    EXPECT_TRUE(KnowsProcesses(0));
  });
}

}  // namespace
}  // namespace tessera::limiter
