// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/names.h"

#include <gtest/gtest.h>

#include "backend/rdma/node_test.h"
#include "rdma/node.h"

namespace tessera::rdma {
namespace {

class NamesTest : public NodeTest {
 protected:
  Names Read() const { return ReadNames(root_).value(); }
};

TEST_F(NamesTest, NamesChangeWithWhatIsOnTheNode) {
  RdmaNode node(directory_, Two());
  const Names before = Read();
  EXPECT_EQ(Read(), before);
  node.SetAway("0000:af:00.1", true);
  EXPECT_NE(Read(), before);
}

TEST_F(NamesTest, NamesDoNotChangeWithInterfacesOfPods) {
  const RdmaNode node(directory_, Two());
  const Names before = Read();
  Write("/sys/class/net/veth1/type", "1\n");
  EXPECT_EQ(Read(), before);
}

TEST_F(NamesTest, AFaceIsOfTheFunctionInItsLink) {
  EXPECT_EQ(FunctionIn("../../devices/pci0000:ae/0000:af:00.1/net/ens3f0v0", "net"),
            "0000:af:00.1");
  EXPECT_EQ(FunctionIn("../../devices/pci0000:ae/0000:af:00.1/usb1/net/usb0", "net"), "");
  EXPECT_EQ(FunctionIn("../../devices/virtual/net/lo", "net"), "");
  EXPECT_EQ(FunctionIn("", "net"), "");
}

TEST_F(NamesTest, ANodeWithoutABusHasNone) {
  EXPECT_EQ(Read(), Names());
}

TEST_F(NamesTest, ABusThatCannotBeReadIsAnError) {
  Write("/sys/bus/pci/devices", "");
  EXPECT_EQ(ReadNames(root_).error().reason, Reason::kIo);
}

TEST_F(NamesTest, AnInterfaceOfHardwareHasItsFunctionIfThatIsItsParent) {
  const RdmaNode node(directory_, Two());
  const std::string net = directory_ + "/sys/class/net/";
  ASSERT_TRUE(
      os::ReplaceLink(net + "eth9", "../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth9"));
  ASSERT_TRUE(os::ReplaceLink(net + "vif0", "../../devices/vif-0/net/vif0"));
  const std::vector<Face> faces = Read().interfaces;
  EXPECT_EQ(faces.front(), (Face{"", "eth9"}));
  EXPECT_EQ(faces[1], (Face{"", "vif0"}));
  EXPECT_EQ(faces[2], (Face{"0000:3b:00.0", "ibp59s0"}));
}

TEST_F(NamesTest, AClassThatCannotBeListedIsNoEmptyOne) {
  const RdmaNode node(directory_, Two());
  const std::string hcas = directory_ + "/sys/class/infiniband";
  ASSERT_TRUE(os::RemoveTree(hcas));
  EXPECT_TRUE(ReadNames(root_, false));
  ASSERT_TRUE(os::ReplaceFile(hcas, ""));

  const auto names = ReadNames(root_, false);

  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().message, "cannot list " + hcas + ": Not a directory");
}

TEST_F(NamesTest, MembersOfAClassAreFoundByTheirFunction) {
  const RdmaNode node(directory_, Two());
  const std::vector<Face> faces =
      ReadFaces(root_, "infiniband_mad", std::vector<std::string>{"umad0", "umad9", "issm0"});
  EXPECT_EQ(NamesOf(faces, "0000:3b:00.0"), (std::vector<std::string>{"issm0", "umad0"}));
  EXPECT_EQ(NamesOf(faces, "0000:af:00.0"), std::vector<std::string>());
}

}  // namespace
}  // namespace tessera::rdma
