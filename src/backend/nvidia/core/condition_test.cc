// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/condition.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "backend/recorder_test.h"
#include "nvml/nvidia_node.h"

namespace tessera::nvidia {
namespace {

// "fatal reset-needed ...; remedy reset"; "nothing".
std::string Trouble(const Condition& before, const Condition& now) {
  const auto trouble = TroubleOf(before, now);
  if (!trouble) return "nothing";
  return fmt::format("{}; remedy {}", Say(*trouble), RemedyName(trouble->remedy));
}

TEST(Condition, ASoundGpuHasNothing) {
  const Condition sound{.ecc_errors = 3, .remap_pending = false, .links_up = 0xFFF};
  EXPECT_EQ(Trouble(sound, sound), "nothing");
  EXPECT_FALSE(ShowsReset(sound, sound));
}

TEST(Condition, MemoryErrorsThatGrowNeedAReset) {
  EXPECT_EQ(Trouble({.ecc_errors = 2}, {.ecc_errors = 5}),
            "fatal reset-needed its memory has 5 errors that ECC cannot correct, up from 2; reset "
            "the GPU; remedy reset");
}

TEST(Condition, MemoryThatWaitsForItsSpareNeedsAReset) {
  EXPECT_EQ(Trouble({}, {.remap_pending = true}),
            "fatal reset-needed a row of its memory waits to be replaced by a spare; reset the "
            "GPU; remedy reset");
  EXPECT_EQ(Trouble({}, {.retired_pending = true}),
            "fatal reset-needed a page of its memory waits to be retired; reset the GPU; remedy "
            "reset");
}

TEST(Condition, MemoryWithoutSparesNeedsAnotherGpu) {
  EXPECT_EQ(Trouble({}, {.remap_pending = true, .remap_failed = true}),
            "fatal reset-needed a row of its memory could not be replaced by a spare; replace the "
            "GPU; remedy reset");
}

TEST(Condition, ALinkIsMissedWhenItWasUp) {
  EXPECT_EQ(Trouble({.links_up = 0b1111}, {.links_up = 0b0110}),
            "bad check-failed NVLinks that were up are down: 0, 3; remedy none");
  EXPECT_EQ(Trouble({.links_up = 0b0110}, {.links_up = 0b1111}), "nothing");
}

TEST(Condition, WhatOnlyAResetClearsShowsOne) {
  EXPECT_TRUE(ShowsReset({.ecc_errors = 2}, {.ecc_errors = 0}));
  EXPECT_TRUE(ShowsReset({.remap_pending = true}, {.remap_pending = false}));
  EXPECT_TRUE(ShowsReset({.retired_pending = true}, {.retired_pending = false}));
  EXPECT_FALSE(ShowsReset({.links_up = 1}, {.links_up = 0}));
}

TEST(Condition, WhatIsNotToldShowsNothing) {
  const Condition told{.ecc_errors = 2, .remap_pending = true, .retired_pending = true};
  EXPECT_FALSE(ShowsReset(told, {}));
  EXPECT_FALSE(ShowsReset({}, told));
  EXPECT_EQ(Trouble({}, {.ecc_errors = 2}), "nothing");
}

TEST(Condition, TheLastThatWasToldIsRemembered) {
  const Condition before{.ecc_errors = 2, .remap_pending = true, .links_up = 0b01};
  EXPECT_EQ(Remembered(before, {.links_up = 0b10}),
            (Condition{.ecc_errors = 2, .remap_pending = true, .links_up = 0b11}));
  EXPECT_EQ(
      Remembered(before, {.ecc_errors = 0, .remap_pending = false, .slowdowns = 0x40}),
      (Condition{.ecc_errors = 0, .remap_pending = false, .links_up = 0b01, .slowdowns = 0x40}));
}

TEST(Condition, SlowdownsAreNamed) {
  EXPECT_EQ(SlowdownText(0), "");
  EXPECT_EQ(SlowdownText(0x20), "heat");
  EXPECT_EQ(SlowdownText(0x60), "heat");
  EXPECT_EQ(SlowdownText(0x80), "power brake");
  EXPECT_EQ(SlowdownText(0xC0), "heat, power brake");
}

class ConditionTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(directory_)); }
  nvml::Answer<Condition> Read() {
    const nvml::LibraryPtr library = session_.Open().value();
    return ReadCondition(*library, library->DeviceByIndex(2).value());
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/condition_test").value();
  NvidiaNode node_{directory_, "8xa100"};
  nvml::Session session_{nvml::LibraryPaths(os::Root(directory_), "/")};
};

TEST_F(ConditionTest, IsReadFromNvml) {
  EXPECT_EQ(
      Read(),
      (Condition{
          .ecc_errors = 0, .remap_pending = false, .retired_pending = false, .links_up = 0xFFF}));

  node_.SetFaults(
      "gpus: {2: {ecc: 4, remap: {pending: 1, failed: 1}, retired: true, clocks: 0xC1, "
      "links-down: [0, 11]}}");
  EXPECT_EQ(Read(), (Condition{.ecc_errors = 4,
                               .remap_pending = true,
                               .remap_failed = true,
                               .retired_pending = true,
                               .links_up = 0x7FE,
                               .slowdowns = 0xC0}));
}

TEST_F(ConditionTest, WhatIsNotSupportedIsNothing) {
  node_.SetFaults(
      "gpus: {2: {fail: {nvmlDeviceGetTotalEccErrors: 3, nvmlDeviceGetRemappedRows: 3, "
      "nvmlDeviceGetRetiredPagesPendingStatus: 3, nvmlDeviceGetCurrentClocksThrottleReasons: 4, "
      "nvmlDeviceGetNvLinkState: 3}}}");
  EXPECT_EQ(Read(), Condition());
}

TEST_F(ConditionTest, AFailureIsNoAnswer) {
  for (const char* function :
       {"nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetRemappedRows",
        "nvmlDeviceGetRetiredPagesPendingStatus", "nvmlDeviceGetCurrentClocksThrottleReasons",
        "nvmlDeviceGetNvLinkState"}) {
    node_.SetFaults(fmt::format("gpus: {{2: {{fail: {{{}: 15}}}}}}", function));
    const auto condition = Read();
    ASSERT_FALSE(condition) << function;
    EXPECT_EQ(condition.error(), (nvml::Failure{function, nvml::Return::kGpuIsLost}));
  }
}

}  // namespace
}  // namespace tessera::nvidia
