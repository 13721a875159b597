// SPDX-License-Identifier: Apache-2.0
#include "region/region.h"

#include <gtest/gtest.h>

#include <cstring>

#include "region/region_test.h"

namespace tessera::region {
namespace {

std::string Trouble(std::string_view bytes) {
  const auto region = Parse(bytes);
  if (region) return "";
  EXPECT_EQ(region.error().reason, Reason::kBadRegion);
  return region.error().message;
}

TEST(RegionTest, ANewOneHasItsLimitsAndNobody) {
  const TestRegion made({{kGpu, 2048 * kMib, 30}, {kOther, 0, 0}});
  EXPECT_EQ(Parse(made.Bytes()).value(),
            (Region{.policy = "force",
                    .words = {.recent = 2},
                    .priority = 1,
                    .devices = {{.uuid = kGpu, .limit = 2048 * kMib, .percent = 30, .busy_ns = 0},
                                {.uuid = kOther, .busy_ns = 0, .lately = 0}}}));
}

TEST(RegionTest, HasWhatEachProcessHoldsOfWhat) {
  TestRegion made({{kGpu, 2048 * kMib, 30}, {kOther, 1024 * kMib, 0}});
  made.Hold(0, 17, 0, 600 * kMib, 100 * kMib);
  made.Hold(0, 17, 1, 2 * kMib, 0);
  made.Hold(3, 21, 0, 40 * kMib, 0);
  made->hami.slots[0].used[0].module = 8 * kMib;
  made->hami.slots[0].used[0].managed = 64 * kMib;
  made.Charge(0, 77);

  const Region region = Parse(made.Bytes()).value();
  EXPECT_EQ(
      region.devices[0],
      (Device{
          .uuid = kGpu, .limit = 2048 * kMib, .percent = 30, .used = 640 * kMib, .busy_ns = 77}));
  EXPECT_EQ(region.devices[1].used, 2 * kMib);
  EXPECT_EQ(
      region.processes,
      (std::vector<Process>{{.slot = 0,
                             .pid = 17,
                             .held = {{0, 100 * kMib, 8 * kMib, 492 * kMib, 600 * kMib, 64 * kMib},
                                      {1, 0, 0, 2 * kMib, 2 * kMib, 0}}},
                            {.slot = 3, .pid = 21, .held = {{0, 0, 0, 40 * kMib, 40 * kMib, 0}}}}));
  EXPECT_EQ(region.odd, 0U);
}

TEST(RegionTest, HamiCoresOwnHasNoAccountingAndNoTotalOfItsOwn) {
  TestRegion made({{kGpu, 2048 * kMib, 30}});
  made.Hold(0, 17, 0, 600 * kMib, 100 * kMib);
  made.Hold(1, 18, 0, 5 * kMib, 0);
  made->hami.slots[1].status = 0;  // dead
  made->hami.utilization_switch = 0;
  made->hami.recent_kernel = -1;
  made->hami.priority = 0;
  EXPECT_EQ(
      Parse(made.HamiBytes()).value(),
      (Region{.maker = Maker::kHamiCore,
              .words = {.recent = -1, .limited = 0},
              .devices = {{.uuid = kGpu,
                           .limit = 2048 * kMib,
                           .percent = 30,
                           .used = 600 * kMib,
                           .lately = 0}},
              .processes = {
                  {.slot = 0, .pid = 17, .held = {{0, 100 * kMib, 0, 500 * kMib, 600 * kMib}}}}}));
}

TEST(RegionTest, PlacesThatNobodyNamedAreNoDevices) {
  const TestRegion made(std::vector<limiter::RegionDevice>(16, {"", 1024 * kMib, 30}));
  EXPECT_EQ(Parse(made.Bytes()).value().devices, std::vector<Device>{});
}

TEST(RegionTest, WhereTimeIsNotLimitedItsProcessesSayWhatTheyHadLately) {
  TestRegion made({{kGpu, 2048 * kMib, 0}, {kOther, 2048 * kMib, 30}});
  made.Hold(0, 17, 0, 600 * kMib, 0);
  made.Hold(1, 18, 0, 600 * kMib, 0);
  made->hami.slots[0].utilization[0].sm = 30;
  made->hami.slots[1].utilization[0].sm = 25;
  made->hami.slots[1].utilization[1].sm = 25;
  made->hami.last_kernel_time = 1'700'000'000;

  Region region = Parse(made.Bytes()).value();
  EXPECT_EQ(region.devices[0].lately, 55U);
  EXPECT_EQ(region.devices[0].launched_at, 1'700'000'000);
  EXPECT_EQ(region.devices[1].lately, std::nullopt);
  EXPECT_EQ(region.odd, 0U);

  made->hami.slots[0].utilization[0].sm = UINT64_MAX;
  region = Parse(made.Bytes()).value();
  EXPECT_EQ(region.devices[0].lately, 25U);
  EXPECT_EQ(region.odd, 1U);

  made->accounting.core_policy = limiter::CorePolicy::kDisable;
  EXPECT_EQ(Parse(made.Bytes()).value().devices[1].lately, 25U);
  made->accounting.core_policy = limiter::CorePolicy::kDefault;
  EXPECT_EQ(Parse(made.Bytes()).value().devices[1].lately, std::nullopt);
  made->hami.utilization_switch = 0;
  EXPECT_EQ(Parse(made.Bytes()).value().devices[1].lately, 25U);
}

TEST(RegionTest, SomethingElseIsSaidToBeSo) {
  EXPECT_EQ(Trouble(""), "it is not a region, or was never completed");
  EXPECT_EQ(Trouble(std::string(limiter::kRegionSize, '\0')),
            "it is not a region, or was never completed");
}

TEST(RegionTest, OneThatWasCutOffIsSaidToBeSo) {
  const TestRegion made({{kGpu, 2048 * kMib, 30}});
  EXPECT_EQ(Trouble(made.Bytes(5000)),
            "it is truncated, or from a HAMi-core before 1.2: 5000 bytes");
  EXPECT_EQ(Trouble(made.Bytes(limiter::kRegionSize - 1)),
            "it is truncated: " + std::to_string(limiter::kRegionSize - 1) + " of " +
                std::to_string(limiter::kRegionSize) + " bytes");
}

TEST(RegionTest, AnotherVersionIsSaidToBeSo) {
  TestRegion made({{kGpu, 2048 * kMib, 30}});
  made->accounting.version = 99;
  EXPECT_EQ(Trouble(made.Bytes()), "its accounting has version 99, this program reads " +
                                       std::to_string(limiter::kAccountingVersion));
  made->accounting.magic = 1;
  EXPECT_EQ(Trouble(made.Bytes()), "its second part is not an accounting");
  made->hami.major = 3;
  EXPECT_EQ(Trouble(made.Bytes()), "it has HAMi-core's version 3, which is unknown");
}

TEST(RegionTest, NumbersThatCannotBeCountAsNone) {
  TestRegion made({{kGpu, 2048 * kMib, 30}});
  made.Hold(0, 17, 0, 600 * kMib, 100 * kMib);
  made->hami.limit[0] = UINT64_MAX;
  made->hami.sm_limit[0] = UINT64_MAX;
  made->hami.slots[0].used[0].context = UINT64_MAX;
  made->hami.slots[0].used[0].module = 900 * kMib;  // more than the process holds
  made->hami.slots[0].used[0].managed = UINT64_MAX;
  made->accounting.core_policy = limiter::CorePolicy{9};
  made->hami.device_num = UINT64_MAX;

  const Region region = Parse(made.Bytes()).value();
  EXPECT_EQ(region.policy, "");
  EXPECT_EQ(region.devices[0].limit, 0U);
  EXPECT_EQ(region.devices[0].percent, 0);
  EXPECT_EQ(region.processes[0].held[0], (ProcessUsage{0, 0, 600 * kMib, 0, 600 * kMib, 0}));
  EXPECT_EQ(region.odd, 5U);
}

TEST(RegionTest, OfHamiCoreTooNumbersThatCannotBeCountAsNone) {
  TestRegion made({{kGpu, 2048 * kMib, 30}});
  made.Hold(1023, 17, 0, 600 * kMib, 0);
  made->hami.proc_num = INT32_MAX;
  made->hami.device_num = 1'000'000;
  made->hami.slots[1023].used[0].total = UINT64_MAX - 5;

  const Region region = Parse(made.HamiBytes()).value();
  EXPECT_EQ(region.devices.size(), 16U);
  EXPECT_EQ(region.processes, (std::vector<Process>{{.slot = 1023, .pid = 17}}));
  EXPECT_EQ(region.odd, 3U);
  made->hami.proc_num = -1;
  EXPECT_EQ(Parse(made.HamiBytes()).value().processes, std::vector<Process>{});
}

TEST(RegionTest, WhatIsHeldOfADeviceThatThereIsNotCountsAsNone) {
  TestRegion made({{kGpu, 2048 * kMib, 30}});
  made->accounting.slots[0].owner = 17;
  made->accounting.slots[0].share[9] = 100;

  const Region region = Parse(made.Bytes()).value();
  EXPECT_EQ(region.processes, (std::vector<Process>{{.slot = 0, .pid = 17, .ended = true}}));
  EXPECT_EQ(region.odd, 1U);
}

TEST(RegionTest, NamesAreTextForATerminalAndHaveAnEnd) {
  TestRegion made({{kGpu, 2048 * kMib, 30}});
  std::memset(made->hami.uuids[0], 'x', sizeof made->hami.uuids[0]);
  std::memcpy(made->hami.uuids[0], "\033[2J\n", 5);
  std::memset(made->hami.uuids[1], 'y', 3);
  const Region region = Parse(made.Bytes()).value();
  EXPECT_EQ(region.devices[0].uuid, "??2J?" + std::string(91, 'x'));
  EXPECT_EQ(region.devices[1].uuid, "yyy");
}

TEST(RegionTest, RefusalsAndWaitsAreOfAllProcessesThatEverHadASlot) {
  TestRegion made({{kGpu, 2048 * kMib, 30}});
  made.Hold(1, 17, 0, 0, 0);
  made->accounting.slots[0].refused = 2;
  made->accounting.slots[1].refused = 3;
  made->accounting.slots[1].waited = 1'000;
  made->accounting.slots[2].refused = 5;  // no process ever had it
  made->hami.last_kernel_time = 77;

  const Region region = Parse(made.Bytes()).value();
  EXPECT_EQ(region.refused, 5U);
  EXPECT_EQ(region.waited_ns, 1'000U);
  EXPECT_EQ(region.launched_at, 77);
}

TEST(RegionTest, OnlyThePartsInUseAreRead) {
  TestRegion made({{kGpu, 2048 * kMib, 30}});
  made.Hold(0, 17, 0, 600 * kMib, 100 * kMib);
  const std::string bytes = made.Bytes();
  size_t count = 0;
  const auto region = Parse(bytes.size(), [&](size_t offset, size_t size) -> Result<std::string> {
    count += size;
    return bytes.substr(offset, size);
  });
  EXPECT_EQ(region.value(), Parse(bytes).value());
  EXPECT_LT(count, 8'192U);
}

TEST(RegionTest, OneThatIsCutOffWhileItIsReadIsReadAsFarAsItGoes) {
  TestRegion made({{kGpu, 2048 * kMib, 30}});
  made.Hold(0, 17, 0, 600 * kMib, 100 * kMib);
  const std::string bytes = made.Bytes();
  int reads = 0;
  const auto region = Parse(bytes.size(), [&](size_t offset, size_t size) -> Result<std::string> {
    return ++reads <= 3 ? bytes.substr(offset, size) : "";
  });
  EXPECT_EQ(region.value().devices.front().used, 600 * kMib);
  EXPECT_EQ(region.value().processes, std::vector<Process>());
}

TEST(ShareGotTest, IsWhatWasChargedMeanwhile) {
  const Device before{.uuid = kGpu, .busy_ns = 1'000};
  const Device after{.uuid = kGpu, .busy_ns = 1'250};
  EXPECT_EQ(ShareGot(before, after, 1'000), 25);
}

TEST(ShareGotTest, OfWhatIsNotChargedIsWhatItsProcessesSayWhileTheyLaunch) {
  constexpr uint64_t kSecond = 1'000'000'000;
  const Device before{.uuid = kGpu, .busy_ns = 1'000, .lately = 55, .launched_at = 100};
  Device after = before;
  EXPECT_EQ(ShareGot(before, after, kSecond), 55) << "it may be the same second";
  EXPECT_EQ(ShareGot(before, after, 2 * kSecond), 0);
  after.launched_at = 102;
  EXPECT_EQ(ShareGot(before, after, 2 * kSecond), 55);
  after.busy_ns = 1'000 + kSecond;
  EXPECT_EQ(ShareGot(before, after, 2 * kSecond), 50) << "it was limited a moment ago";
}

TEST(ShareGotTest, IsNotKnownWhereTheCounterSaysWhatCannotBe) {
  const Device before{.uuid = kGpu, .busy_ns = 1'000};
  EXPECT_EQ(ShareGot(before, {.uuid = kGpu, .busy_ns = 999}, 1'000), std::nullopt);
  EXPECT_EQ(ShareGot(before, {.uuid = kGpu, .busy_ns = 3'001}, 1'000), std::nullopt);
  EXPECT_EQ(ShareGot(before, {.uuid = kOther, .busy_ns = 1'001}, 1'000), std::nullopt);
  EXPECT_EQ(ShareGot(before, {.uuid = kGpu}, 1'000), std::nullopt);
  EXPECT_EQ(ShareGot(before, before, 0), std::nullopt);
}

}  // namespace
}  // namespace tessera::region
