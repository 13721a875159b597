// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_times.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "fraction/region_test.h"
#include "os/opened_test.h"

namespace tessera {
namespace {

using limiter::kMaxDevices;
using limiter::TimeAccounting;

class GrantTimesTest : public RegionTest {
 protected:
  Region& Add(const std::string& grant, const std::vector<std::string>& devices) {
    Region& region = Make(grant);
    times_.Add(grant, directory_, FileOf(grant), devices);
    return region;
  }
  Duration Tell(uint64_t at_ms) { return times_.UpdateRegions(at_ms * kMs); }

  // Sets a process's displayed use of the first device.
  static void Show(Region& region, size_t slot, uint64_t percent, uint64_t at_ms) {
    region.hami.slots[slot].utilization[0].sm = percent;
    region.hami.slots[slot].utilization[0].sm_at = at_ms * kMs;
  }

  GrantTimes times_;
};

TEST_F(GrantTimesTest, EachIsToldWhatTheOthersOfItsGpuWereCharged) {
  TimeAccounting& a = Add("a", {"GPU-1"}).accounting.times[0];
  TimeAccounting& b = Add("b", {"GPU-2", "GPU-1"}).accounting.times[1];
  TimeAccounting& c = Add("c", {"GPU-1"}).accounting.times[0];
  Tell(1'000);
  a.used = 30 * kMs;
  b.used = 20 * kMs;
  c.used = 5 * kMs;
  EXPECT_EQ(Tell(1'100), GrantTimes::kShared);
  EXPECT_EQ(a.others, 25 * kMs);
  EXPECT_EQ(b.others, 35 * kMs);
  EXPECT_EQ(c.others, 50 * kMs);
  EXPECT_EQ(a.others_at, 1'100 * kMs);
  b.used += 7 * kMs;
  Tell(1'200);
  EXPECT_EQ(a.others, 32 * kMs);
  EXPECT_EQ(b.others, 35 * kMs);
}

TEST_F(GrantTimesTest, WhoIsAloneIsToldSo) {
  TimeAccounting& a = Add("a", {"GPU-1"}).accounting.times[0];
  Add("b", {"GPU-1"});
  a.used = 30 * kMs;
  EXPECT_EQ(Tell(1'000), GrantTimes::kAlone);
  EXPECT_EQ(a.others, 0u);
  EXPECT_EQ(a.others_at, 1'000 * kMs);
}

TEST_F(GrantTimesTest, WhoLaunchesNothingIsWrittenNothing) {
  Add("a", {"GPU-1"}).accounting.times[0].used = 30 * kMs;
  TimeAccounting& b = Add("b", {"GPU-1"}).accounting.times[0];
  Tell(1'000);
  EXPECT_EQ(b.others_at, 0u);
  b.used = kMs;
  Tell(1'100);
  EXPECT_EQ(b.others_at, 1'100 * kMs);
}

TEST_F(GrantTimesTest, WhatAContainerWasToldByAnEarlierAgentGoesOn) {
  TimeAccounting& a = Make("a").accounting.times[0];
  a.used = 100 * kMs;
  a.others = 500 * kMs;
  times_.Add("a", directory_, FileOf("a"), {"GPU-1"});
  TimeAccounting& b = Add("b", {"GPU-1"}).accounting.times[0];
  a.used += kMs;
  b.used += 2 * kMs;
  Tell(1'000);
  EXPECT_EQ(a.others, 502 * kMs);
  EXPECT_EQ(b.others, kMs);
}

TEST_F(GrantTimesTest, WhatIsGivenBackIsNotCountedAgain) {
  TimeAccounting& a = Add("a", {"GPU-1"}).accounting.times[0];
  TimeAccounting& b = Add("b", {"GPU-1"}).accounting.times[0];
  a.used = b.used = 30 * kMs;
  Tell(1'000);
  a.used -= 10 * kMs;
  Tell(1'100);
  EXPECT_EQ(b.others, 30 * kMs);
  a.used += 15 * kMs;
  Tell(1'200);
  EXPECT_EQ(b.others, 35 * kMs);
}

TEST_F(GrantTimesTest, NonsenseCountsForNoMoreThanTheTimeThatPassed) {
  TimeAccounting& a = Add("a", {"GPU-1"}).accounting.times[0];
  TimeAccounting& b = Add("b", {"GPU-1"}).accounting.times[0];
  b.used = kMs;
  Tell(1'000);
  a.used = uint64_t{1} << 62;
  b.used = 2 * kMs;
  Tell(1'100);
  EXPECT_LE(b.others, 2'100 * kMs);
  a.used = 0;  // a fall this great means another region
  Tell(1'200);
  a.used = 3 * kMs;
  const uint64_t before = b.others;
  Tell(1'300);
  EXPECT_EQ(b.others, before + 3 * kMs);
}

TEST_F(GrantTimesTest, WhoHasGoneIsNoNeighbour) {
  TimeAccounting& a = Add("a", {"GPU-1"}).accounting.times[0];
  TimeAccounting& b = Add("b", {"GPU-1"}).accounting.times[0];
  a.used = b.used = 30 * kMs;
  EXPECT_EQ(Tell(1'000), GrantTimes::kShared);
  times_.Remove("b");
  a.used += kMs;
  EXPECT_EQ(Tell(1'100), GrantTimes::kAlone);
  EXPECT_EQ(a.others, 30 * kMs);
}

TEST_F(GrantTimesTest, WhoStoppedLaunchingIsShownIdleToTheMonitor) {
  Region& region = Add("a", {"GPU-1", "GPU-2"});
  region.accounting.slots_used = 3;
  region.hami.slots[2].utilization[1].sm = 40;
  region.hami.slots[2].utilization[0].sm = 50;
  region.accounting.times[1].used = kMs;
  Tell(1'000);
  region.accounting.times[0].used = kMs;
  Tell(2'900);
  EXPECT_EQ(region.hami.slots[2].utilization[1].sm, 40u);
  Tell(3'100);
  EXPECT_EQ(region.hami.slots[2].utilization[1].sm, 0u);
  EXPECT_EQ(region.hami.slots[2].utilization[0].sm, 50u) << "it is busy with another GPU";
}

TEST_F(GrantTimesTest, WhoseTimeIsNotLimitedHadWhatItsProcessesAreShownToHave) {
  TimeAccounting& a = Add("a", {"GPU-1"}).accounting.times[0];
  Region& b = Add("b", {"GPU-1"});
  b.accounting.slots_used = 3;
  Show(b, 0, 30, 4'000);
  Show(b, 2, 40, 4'000);
  a.used = kMs;
  Tell(4'000);
  a.used += kMs;
  EXPECT_EQ(Tell(4'100), GrantTimes::kShared);
  EXPECT_EQ(a.others, 70 * kMs);
  Show(b, 1, 90, 5'000);
  a.used += kMs;
  Tell(5'100);
  EXPECT_EQ(a.others, 1'070 * kMs) << "nobody has more than all of it";
  a.used += kMs;
  Tell(6'100);
  EXPECT_EQ(a.others, 1'970 * kMs) << "two of its processes have stopped";
}

TEST_F(GrantTimesTest, WhoIsChargedHadThatAlone) {
  TimeAccounting& a = Add("a", {"GPU-1"}).accounting.times[0];
  Region& b = Add("b", {"GPU-1"});
  b.accounting.slots_used = 1;
  Tell(4'000);
  a.used = b.accounting.times[0].used = kMs;
  Show(b, 0, 30, 4'100);
  Tell(4'100);
  EXPECT_EQ(a.others, kMs);
  a.used += kMs;
  Tell(6'000);
  EXPECT_EQ(a.others, kMs);
  a.used += kMs;
  Show(b, 0, 30, 6'050);
  Tell(6'100);
  EXPECT_EQ(a.others, 31 * kMs) << "it is not charged any more, but runs";
}

TEST_F(GrantTimesTest, BesideAContainerThatNobodyFollowsNobodyIsToldAnything) {
  TimeAccounting& a = Add("a", {"GPU-1"}).accounting.times[0];
  TimeAccounting& b = Add("b", {"GPU-1"}).accounting.times[0];
  TimeAccounting& c = Add("c", {"GPU-2"}).accounting.times[0];
  a.used = b.used = c.used = kMs;
  EXPECT_EQ(Tell(1'000), GrantTimes::kShared);
  times_.Add("foreign", directory_, "foreign.cache", {"GPU-1"});
  a.used = b.used = c.used = 2 * kMs;
  EXPECT_EQ(Tell(1'100), GrantTimes::kAlone);
  EXPECT_EQ(a.others_at, 0u);
  EXPECT_EQ(b.others_at, 0u);
  EXPECT_EQ(c.others_at, 1'100 * kMs) << "it is of another GPU";
  times_.Remove("foreign");
  a.used = 3 * kMs;
  Tell(1'200);
  EXPECT_EQ(a.others_at, 1'200 * kMs);
}

TEST_F(GrantTimesTest, OneWhoseRegionIsThereAtLastIsFollowed) {
  TimeAccounting& a = Add("a", {"GPU-1"}).accounting.times[0];
  times_.Add("b", directory_, FileOf("b"), {"GPU-1"});
  Add("b", {"GPU-1"});
  a.used = kMs;
  Tell(1'000);
  EXPECT_EQ(a.others_at, 1'000 * kMs);
}

TEST_F(GrantTimesTest, ARemovedRegionThatTakesTheDiskIsLetGo) {
  TimeAccounting& a = Add("a", {"GPU-1"}).accounting.times[0];
  Add("b", {"GPU-1"});
  const std::string path = directory_ + "/" + FileOf("b");
  const os::Fd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(posix_fallocate(file.get(), 0, 3 * sizeof(Region)), 0);
  a.used = kMs;
  Tell(1'000);
  EXPECT_EQ(a.others_at, 1'000 * kMs) << "it still has its name, by which it is cut back";

  ASSERT_TRUE(os::RemoveFile(path));
  a.used += kMs;
  Tell(2'000);
  EXPECT_EQ(a.others_at, 0U) << "nobody knows what its container has";
}

TEST_F(GrantTimesTest, AKernelThatIsToBeCalibratedHoldsTheOthersForAMoment) {
  Region& a = Add("a", {"GPU-1"});
  Region& b = Add("b", {"GPU-1"});
  a.accounting.times[0].used = b.accounting.times[0].used = kMs;
  EXPECT_EQ(Tell(1'000), GrantTimes::kShared);
  a.accounting.calibrations[0].wanted_at = 1'100 * kMs;
  a.accounting.calibrations[0].wanted_ns = 50 * kMs;
  EXPECT_EQ(Tell(1'100), Calibrations::kBusy);
  EXPECT_GE(b.accounting.calibrations[0].held_until, 1'100 * kMs);
  EXPECT_EQ(Tell(1'105), Calibrations::kBusy);
  EXPECT_EQ(a.accounting.calibrations[0].alone_from, 1'105 * kMs);
}

TEST_F(GrantTimesTest, OtherFilesAreLeftAlone) {
  Make("version").accounting.version = limiter::kAccountingVersion + 1;
  Make("foreign").accounting.magic = 1;
  Make("real");
  ASSERT_EQ(mkfifo((directory_ + "/" + FileOf("pipe")).c_str(), 0600), 0);
  ASSERT_TRUE(os::ReplaceLink(directory_ + "/" + FileOf("link"), FileOf("real")));
  ASSERT_TRUE(os::ReplaceFile(directory_ + "/" + FileOf("short"), "short"));
  for (const char* grant : {"version", "foreign", "pipe", "link", "short", "missing"}) {
    times_.Add(grant, directory_, FileOf(grant), {"GPU-1"});
    EXPECT_TRUE(times_.empty()) << grant;
  }
  times_.Add("real", directory_,
             "../" + directory_.substr(directory_.rfind('/') + 1) + "/" + FileOf("real"),
             {"GPU-1"});
  EXPECT_TRUE(times_.empty()) << "out of the directory and in again";
  times_.Add("real", directory_, FileOf("real"), {"GPU-1"});
  EXPECT_FALSE(times_.empty());
}

TEST_F(GrantTimesTest, NothingIsOpenedThatIsNoFile) {
  const std::string path = directory_ + "/" + FileOf("a");
  ASSERT_EQ(mkfifo(path.c_str(), 0666), 0);
  const os::OpenWatch pipe(path);
  times_.Add("a", directory_, FileOf("a"), {"GPU-1"});
  EXPECT_FALSE(pipe.was_opened());

  const std::string other = directory_ + "/" + FileOf("b");
  if (!os::MakeDevice(other)) GTEST_SKIP() << "this user may make no device node";
  const os::OpenWatch device(other);
  times_.Add("b", directory_, FileOf("b"), {"GPU-1"});
  EXPECT_FALSE(device.was_opened());
  EXPECT_TRUE(times_.empty());
}

TEST_F(GrantTimesTest, MoreDevicesThanARegionHasAreNotRead) {
  Region& region = Make("a");
  times_.Add("a", directory_, FileOf("a"), std::vector<std::string>(kMaxDevices + 5, "GPU-1"));
  region.accounting.times[0].used = kMs;
  Tell(1'000);
  EXPECT_EQ(region.accounting.times[kMaxDevices - 1].others, 0u);
}

}  // namespace
}  // namespace tessera
