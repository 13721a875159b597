// SPDX-License-Identifier: Apache-2.0
#include "limiter/log/report.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "limiter/log/said_test.h"

namespace tessera::limiter {
namespace {

Limits Found(int level) {
  Limits limits;
  limits.source = Source::kFile;
  limits.log_level = level;
  limits.priority = 1;
  limits.count = 2;
  limits.devices[0] = {"GPU-aa", 1 << 30, 30};
  limits.devices[1] = {"GPU-bb", 0, 0};
  std::snprintf(limits.region, sizeof limits.region, "/vgpu/a.cache");
  return limits;
}

TEST(ReportTest, WhatLimitsThereAreAndWhereIsSaid) {
  const std::string found =
      "limits of /run/tessera/vgpu/limits: policy default, priority 1\n"
      "limit of GPU-aa: 1073741824 bytes of memory, 30 % of its time\n"
      "limit of GPU-bb: all of its memory, all of its time\n";
  EXPECT_EQ(Said([] { ReportLimits(Found(1), Trouble::kNone, 3); }), "");
  EXPECT_EQ(Said([] { ReportLimits(Found(2), Trouble::kNone, 3); }), found);
  EXPECT_EQ(Said([] { ReportLimits(Found(4), Trouble::kNone, 3); }),
            found + "shares /vgpu/a.cache, slot 3\n");
}

TEST(ReportTest, VariablesForAllDevicesAreOneLine) {
  Limits limits = Found(2);
  limits.source = Source::kEnvironment;
  limits.core_policy = CorePolicy::kForce;
  limits.oversubscribe = true;
  limits.count = kMaxDevices;
  for (DeviceLimit& device : limits.devices) device = {"", 1 << 30, 0};
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kNone, 0); }),
            "limits of the environment: policy force, priority 1, oversubscribed\n"
            "limit of every device: 1073741824 bytes of memory, all of its time\n");
  limits.count = 2;
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kNone, 0); }),
            "limits of the environment: policy force, priority 1, oversubscribed\n"
            "limit of device 0: 1073741824 bytes of memory, all of its time\n"
            "limit of device 1: 1073741824 bytes of memory, all of its time\n");
}

TEST(ReportTest, ThatThereAreNoLimitsIsSaid) {
  Limits limits;
  limits.log_level = 2;
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kNoLimits, -1); }),
            "no limits: neither /run/tessera/vgpu/limits nor variables nor a region set any\n");
}

TEST(ReportTest, LimitsOfTheRegionAreNamedByIt) {
  Limits limits = Found(2);
  limits.source = Source::kRegion;
  limits.count = 0;
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kNone, 0); }),
            "limits of /vgpu/a.cache: policy default, priority 1\n");
}

TEST(ReportTest, WhichLineOfTheFileIsBrokenIsSaid) {
  Limits limits = Found(1);
  limits.broken = true;
  std::snprintf(limits.reason, sizeof limits.reason, "line 3: memory is set twice");
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kNoLimits, -1); }),
            "error: memory is denied: /run/tessera/vgpu/limits: line 3: memory is set twice\n");
}

TEST(ReportTest, WhichVariableIsBrokenOrWasLeftOutIsSaid) {
  Limits limits = Found(2);
  limits.source = Source::kEnvironment;
  limits.broken = true;
  std::snprintf(limits.reason, sizeof limits.reason, "CUDA_DEVICE_MEMORY_LIMIT_0: not a size: 'x'");
  std::snprintf(limits.warning, sizeof limits.warning, "CUDA_TASK_PRIORITY: a number, not 'y'");
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kNoLimits, -1); }),
            "warning: left out: CUDA_TASK_PRIORITY: a number, not 'y'\n"
            "error: memory is denied: CUDA_DEVICE_MEMORY_LIMIT_0: not a size: 'x'\n");
}

TEST(ReportTest, WhyTheAccountingAreNotSharedIsSaid) {
  Limits limits = Found(1);
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kForeign, -1); }),
            "error: memory is denied: /vgpu/a.cache: the file is not a region; remove it\n");
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kReadOnly, -1); }), "");
  limits.log_level = 2;
  limits.count = 0;
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kReadOnly, -1); }),
            "limits of /run/tessera/vgpu/limits: policy default, priority 1\n"
            "warning: /vgpu/a.cache: the region is read-only; make it writable; limits hold for "
            "this process only\n");
}

TEST(ReportTest, WhereThePolicyIsClosedWhoeverIsAloneIsToldThatMemoryIsDenied) {
  Limits limits = Found(1);
  limits.closed = true;
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kNone, 0); }), "");
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kReadOnly, -1); }),
            "error: memory is denied: /vgpu/a.cache: the region is read-only; make it writable\n");
  limits.source = Source::kNone;
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kNoLimits, -1); }),
            "error: memory is denied: /vgpu/a.cache: there is no region, and no limits file or "
            "variables to make one\n");
}

TEST(ReportTest, WhyARegionSaysNoLimitsIsSaid) {
  Limits limits = Found(2);
  limits.source = Source::kNone;
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kTruncated, -1); }),
            "no limits: neither /run/tessera/vgpu/limits nor variables nor a region set any\n"
            "warning: /vgpu/a.cache: the region is truncated; remove that file\n");
}

TEST(ReportTest, WhatIsWrongWithThePolicyIsSaid) {
  Limits limits = Found(1);
  limits.closed = true;
  std::snprintf(limits.reason, sizeof limits.reason, "/run/no-limits: open is meant");
  EXPECT_EQ(Said([&] { ReportLimits(limits, Trouble::kNone, 0); }),
            "error: /run/no-limits: open is meant\n");
}

TEST(ReportTest, ADenialSaysHowMuchIsHeld) {
  EXPECT_EQ(Said([] { ReportDenial(Found(2), "GPU-aa", 512, 1000, 1024); }), "");
  EXPECT_EQ(Said([] { ReportDenial(Found(3), "GPU-aa", 512, 1000, 1024); }),
            "denied: 512 bytes of GPU-aa; 1000 of 1024 are held\n");
  EXPECT_EQ(Said([] { ReportDenial(Found(3), "", 512, 0, 0); }),
            "denied: 512 bytes of the device\n");
}

TEST(ReportTest, ManagedMemorySaysHowMuchItIsAndHowMuchIsHeld) {
  EXPECT_EQ(Said([] { ReportManaged(Found(2), "GPU-aa", 512, 1000, 1024); }), "");
  EXPECT_EQ(Said([] { ReportManaged(Found(3), "GPU-aa", 512, 1000, 1024); }),
            "managed: 512 bytes of GPU-aa, which has no room for them; 1000 of 1024 are held\n");
}

}  // namespace
}  // namespace tessera::limiter
