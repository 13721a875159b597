// SPDX-License-Identifier: Apache-2.0
#include "backend/sysfs.h"

#include <gtest/gtest.h>

#include "backend/fixture_kind_test.h"

namespace tessera::sysfs {
namespace {

using Words = std::vector<std::string>;

class SysfsTest : public testing::Test {
 protected:
  SysfsTest() {
    tree_.Write("/card/vendor", "0x15b3\n");
    tree_.Write("/card/net/eth0/type", " 1\n");
    tree_.Write("/card/net/eth1/type", "32\n");
    tree_.Link("/card/driver", "../../bus/pci/drivers/mlx5_core");
  }

  const FixtureTree tree_;
  const std::string card_ = tree_.root().Path("/card");
};

TEST_F(SysfsTest, ValuesAreReadByTheirPaths) {
  EXPECT_EQ(Text(card_ + "/net/eth0/type"), "1");
  EXPECT_EQ(HexText(card_ + "/vendor"), "15b3");
  EXPECT_EQ(HexText(card_ + "/net/eth0/type"), "");
  EXPECT_EQ(Names(card_ + "/net"), (Words{"eth0", "eth1"}));
}

TEST_F(SysfsTest, ADirectorysValuesAreThoseOfTheirPaths) {
  const Directory directory(card_);
  EXPECT_EQ(directory.Text("net/eth0/type"), "1");
  EXPECT_EQ(directory.HexText("vendor"), "15b3");
  EXPECT_TRUE(directory.Has("net/eth0"));
  EXPECT_FALSE(directory.Has("net/eth2"));
  EXPECT_EQ(directory.LinkName("driver"), "mlx5_core");
  EXPECT_EQ(directory.Link("driver"), "../../bus/pci/drivers/mlx5_core");
  EXPECT_EQ(directory.Head("vendor", 2), "0x");
  EXPECT_EQ(directory.Names("net"), (Words{"eth0", "eth1"}));
  EXPECT_EQ(directory.Names("."), (Words{"driver", "net", "vendor"}));
}

TEST_F(SysfsTest, WhatCannotBeReadIsEmpty) {
  const Directory there(card_);
  const Directory absent(card_ + "/absent");
  for (const Directory* directory : {&there, &absent}) {
    EXPECT_EQ(directory->Text("none"), "");
    EXPECT_EQ(directory->HexText("none"), "");
    EXPECT_EQ(directory->LinkName("vendor"), "");
    EXPECT_EQ(directory->Names("none"), Words());
  }
  EXPECT_EQ(there.Text("net"), "") << "a directory";
  EXPECT_TRUE(there.opened() && !there.missing());
  EXPECT_TRUE(absent.missing() && !absent.opened());
}

TEST_F(SysfsTest, ANumberIsTheWholeText) {
  EXPECT_EQ(Number<int>("-1"), -1);
  EXPECT_EQ(Number<unsigned>("1f", 16), 31U);
  EXPECT_EQ(Number<int>("12 "), std::nullopt);
  EXPECT_EQ(Number<int>(""), std::nullopt);
}

}  // namespace
}  // namespace tessera::sysfs
