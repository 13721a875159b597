// SPDX-License-Identifier: Apache-2.0
#include "backend/file/device_id.h"

#include <gtest/gtest.h>

namespace tessera::file {
namespace {

TEST(DeviceIdTest, ADeviceIsCalledByItsPathBelowDev) {
  EXPECT_EQ(DeviceId("/dev/ttyUSB0"), "ttyUSB0");
  EXPECT_EQ(DeviceId("/dev/serial/by-id/usb-FTDI_A6008isP-if00-port0"),
            "serial:by-id:usb-FTDI_A6008isP-if00-port0");
}

TEST(DeviceIdTest, FilesElsewhereAreCalledByTheirWholePathAndAHash) {
  EXPECT_EQ(DeviceId("/srv/models/1"), "srv:models:1-07db9c9d4b73");
}

TEST(DeviceIdTest, PathsThatLookAlikeStayApart) {
  EXPECT_EQ(DeviceId("/dev/a-b"), "a-b");
  EXPECT_EQ(DeviceId("/dev/a/b"), "a:b");
  EXPECT_EQ(DeviceId("/dev/a:b"), "a-b-4ad9d682a59d");
  EXPECT_NE(DeviceId("/a/b"), DeviceId("/dev/a/b"));
}

TEST(DeviceIdTest, ReplacedCharactersLeaveAHash) {
  EXPECT_EQ(DeviceId("/dev/a b"), "a-b-4ab7d682a580");
  EXPECT_NE(DeviceId("/dev/a b"), DeviceId("/dev/a,b"));
  EXPECT_EQ(DeviceId("/dev/serial/by-path/pci-0000:00:14.0-usb-0:2:1.0-port0"),
            "serial:by-path:pci-0000-00-14.0-usb-0-2-1.0-port0-d0ea8a5366c2");
}

TEST(DeviceIdTest, AReplicaSeparatorCannotAppear) {
  EXPECT_EQ(DeviceId("/dev/a::b").find("::"), std::string::npos);
  EXPECT_NE(DeviceId("/dev/a:").back(), ':');
}

TEST(DeviceIdTest, LongIdsAreCutAndStayApart) {
  const std::string stem = "/dev/" + std::string(70, 'n');

  const std::string one = DeviceId(stem + "1");
  const std::string two = DeviceId(stem + "2");

  EXPECT_EQ(one.size(), kMaxIdLength);
  EXPECT_EQ(one.substr(0, 51), std::string(50, 'n') + "-");
  EXPECT_NE(one, two);
  EXPECT_EQ(DeviceId("/dev/" + std::string(63, 'n')), std::string(63, 'n'));
}

TEST(DeviceIdTest, IdsBeginAndEndWithALetterOrDigit) {
  EXPECT_EQ(DeviceId("/dev/-a").substr(0, 3), "x-a");
  EXPECT_EQ(DeviceId("/dev/a-").substr(0, 2), "a-");
  EXPECT_NE(DeviceId("/dev/a-").back(), '-');
  EXPECT_EQ(DeviceId("/dev/").substr(0, 2), "x-");
}

}  // namespace
}  // namespace tessera::file
