// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/file.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::limiter {
namespace {

const std::string kFirst = "tessera-limits 1\n";
const std::string kDevice = "device GPU-aa memory=1024 cores=30\n";

Limits Parse(const std::string& text) {
  Limits limits;
  ParseLimitsFile(Text(text.data(), text.size()), &limits);
  return limits;
}

std::string ReasonOf(const std::string& text) {
  const Limits limits = Parse(text);
  EXPECT_EQ(limits.broken, limits.reason[0] != '\0');
  if (limits.broken) {
    EXPECT_EQ(limits.count, 0);
  }
  return limits.reason;
}

TEST(LimitsFileTest, AFileThatWasCutOffIsBroken) {
  EXPECT_EQ(ReasonOf(kFirst + "device GPU-aa memory=10"),
            "line 0: the last line has no end; the file is truncated");
}

TEST(LimitsFileTest, AWholeFileIsReadAsItStands) {
  const Limits limits = Parse(
      "# for one container\n\ntessera-limits 1 # the version\n"
      "device GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76 memory=2147483648 cores=30\n"
      "device MIG-bb cores=100 future=1\n"
      " policy = "
      "force\npriority=0\noversubscribe=yes\ncore-policy=free\nmemory-by=driver\n"
      "region=/run/x.cache\nlater=7\n");
  EXPECT_STREQ(limits.reason, "");
  EXPECT_FALSE(limits.broken);
  EXPECT_EQ(limits.source, Source::kFile);
  ASSERT_EQ(limits.count, 2);
  EXPECT_STREQ(limits.devices[0].uuid, "GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76");
  EXPECT_EQ(limits.devices[0].bytes, 2147483648u);
  EXPECT_EQ(limits.devices[0].cores, 30u);
  EXPECT_STREQ(limits.devices[1].uuid, "MIG-bb");
  EXPECT_EQ(limits.devices[1].bytes, 0u);
  EXPECT_EQ(limits.devices[1].cores, 100u);
  EXPECT_EQ(limits.core_policy, CorePolicy::kForce);
  EXPECT_EQ(limits.priority, 0);
  EXPECT_TRUE(limits.oversubscribe);
  EXPECT_TRUE(limits.core_policy_free);
  EXPECT_TRUE(limits.memory_by_driver);
  EXPECT_STREQ(limits.region, "/run/x.cache");
}

TEST(LimitsFileTest, WhatIsNotSaidIsTheDefault) {
  const Limits limits = Parse(kFirst + kDevice);
  EXPECT_FALSE(limits.broken);
  EXPECT_EQ(limits.core_policy, CorePolicy::kDefault);
  EXPECT_EQ(limits.priority, 1);
  EXPECT_FALSE(limits.oversubscribe);
  EXPECT_FALSE(limits.core_policy_free);
  EXPECT_FALSE(limits.memory_by_driver);
  EXPECT_STREQ(limits.region, "");
}

TEST(LimitsFileTest, AnythingBrokenBreaksTheFileWithLineAndReason) {
  const std::string whole = kFirst + kDevice;
  EXPECT_EQ(ReasonOf(""), "line 0: the last line has no end; the file is truncated");
  EXPECT_EQ(ReasonOf("limits 1\n"),
            "line 1: the first line is not 'tessera-limits 1' but 'limits 1'");
  EXPECT_EQ(ReasonOf("tessera-limits 2\n"), "line 1: only version 1 is known, not '2'");
  EXPECT_EQ(ReasonOf("# nothing\n"), "line 1: no line says 'tessera-limits 1'");
  EXPECT_EQ(ReasonOf(kFirst), "line 1: no device is named");
  EXPECT_EQ(ReasonOf(whole + "policy\n"), "line 3: neither a device nor KEY=VALUE: 'policy'");
  EXPECT_EQ(ReasonOf(whole + "policy=Force\n"),
            "line 3: policy is default, force or disable, not 'Force'");
  EXPECT_EQ(ReasonOf(whole + "priority=2\n"), "line 3: priority is 0 or 1, not '2'");
  EXPECT_EQ(ReasonOf(whole + "priority=1\npriority=1\n"), "line 4: a key is set twice");
  EXPECT_EQ(ReasonOf(whole + "oversubscribe=1\n"), "line 3: takes yes or no, not '1'");
  EXPECT_EQ(ReasonOf(whole + "core-policy=\n"), "line 3: takes free or fixed, not");
  EXPECT_EQ(ReasonOf(whole + "memory-by=kernel\n"),
            "line 3: takes driver or library, not 'kernel'");
  EXPECT_EQ(ReasonOf(whole + "region=tmp\n"),
            "line 3: region is an absolute path below 256 characters, not 'tmp'");
  EXPECT_EQ(ReasonOf(whole + kDevice), "line 3: a device is named twice: 'GPU-aa'");
  EXPECT_EQ(ReasonOf(kFirst + "device 0 memory=1\n"),
            "line 2: a device is GPU-... or MIG-..., not '0'");
  EXPECT_EQ(ReasonOf(kFirst + "device GPU-aa memory\n"),
            "line 2: of a device, not KEY=VALUE: 'memory'");
  EXPECT_EQ(ReasonOf(kFirst + "device GPU-aa memory=1g\n"),
            "line 2: memory is a number of bytes below 32 TiB, not '1g'");
  EXPECT_EQ(ReasonOf(kFirst + "device GPU-aa memory=35184372088833\n"),
            "line 2: memory is a number of bytes below 32 TiB, not '35184372088833'");
  EXPECT_EQ(ReasonOf(kFirst + "device GPU-aa memory=99999999999999999999999\n"),
            "line 2: memory is a number of bytes below 32 TiB, not '99999999999999999999999'");
  EXPECT_EQ(ReasonOf(kFirst + "device GPU-aa memory=1 memory=1\n"), "line 2: memory is set twice");
  EXPECT_EQ(ReasonOf(kFirst + "device GPU-aa cores=1 cores=1\n"), "line 2: cores are set twice");
  EXPECT_EQ(ReasonOf(kFirst + "device GPU-aa cores=101\n"),
            "line 2: cores are 0 to 100, not '101'");
  EXPECT_EQ(ReasonOf(kFirst + std::string("a\0b\n", 4)),
            "line 2: a character that is not plain text");
}

TEST(LimitsFileTest, TooLongAFileAndTooManyDevicesAreRefused) {
  EXPECT_EQ(ReasonOf(kFirst + kDevice + std::string(kLimitsSize, '#') + "\n"),
            "line 0: the file is longer than 65536 bytes");
  std::string text = kFirst;
  for (int i = 0; i < 17; ++i) text += "device GPU-" + std::to_string(i) + " memory=1\n";
  EXPECT_EQ(ReasonOf(text), "line 18: more than 16 devices");
}

}  // namespace
}  // namespace tessera::limiter
