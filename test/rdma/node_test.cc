// SPDX-License-Identifier: Apache-2.0
#include "rdma/node.h"

#include <gtest/gtest.h>

#include "os/files.h"
#include "rdma/changes.h"

namespace tessera::rdma {
namespace {

class RdmaNodeTest : public testing::Test {
 protected:
  ~RdmaNodeTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  std::string Line(const std::string& path) const {
    const auto text = os::ReadFile(directory_ + path);
    return text ? text->substr(0, text->find('\n')) : text.error().message;
  }
  bool Has(const std::string& path) const { return os::Exists(directory_ + path); }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/rdma").value();
};

TEST_F(RdmaNodeTest, VirtualFunctionsFollowTheirCardOnTheBus) {
  SimNic nic{.address = "0000:af:00.0"};
  EXPECT_EQ(VfAddress(nic, 0), "0000:af:00.1");
  EXPECT_EQ(VfAddress(nic, 6), "0000:af:00.7");
  EXPECT_EQ(VfAddress(nic, 7), "0000:af:01.0");
  EXPECT_EQ(VfAddress(nic, 124), "0000:af:0f.5");
}

TEST_F(RdmaNodeTest, NodesLeadBackToTheirFunction) {
  const RdmaNode node(directory_, Two());
  EXPECT_EQ(Line("/sys/class/infiniband/mlx5_2/device/device"), "0x101c");
  EXPECT_EQ(Line("/sys/class/infiniband_verbs/uverbs2/ibdev"), "mlx5_2");
  EXPECT_EQ(Line("/sys/class/net/ens3f0v0/dev_port"), "0");
  EXPECT_EQ(Line("/sys/bus/pci/devices/0000:af:00.1/physfn/sriov_numvfs"), "4");
  EXPECT_EQ(Line("/sys/bus/pci/devices/0000:af:00.0/virtfn3/numa_node"), "1");
  EXPECT_TRUE(Has("/dev/infiniband/issm0"));
}

TEST_F(RdmaNodeTest, AnInterfaceInAPodIsAwayAndItsPortStays) {
  RdmaNode node(directory_, Two());
  node.SetAway("0000:af:00.1", true);
  EXPECT_FALSE(Has("/sys/class/net/ens3f0v0"));
  EXPECT_EQ(Line("/sys/class/infiniband/mlx5_2/ports/1/state"), "4: ACTIVE");
}

TEST_F(RdmaNodeTest, ANameOfVfioIsThatOfTheGroup) {
  RdmaNode node(directory_, Two());
  node.SetDriver("0000:af:00.1", "vfio-pci");
  EXPECT_TRUE(Has("/dev/vfio/71"));
  EXPECT_FALSE(Has("/dev/infiniband/uverbs2"));
  EXPECT_FALSE(Has("/sys/bus/pci/devices/0000:af:00.1/net"));
}

TEST_F(RdmaNodeTest, AnUnknownCardIsTold) {
  RdmaNode node(directory_, Two());
  EXPECT_THROW(node.SetCable("0000:af:00.1", false), BadChange);
  EXPECT_THROW(node.Lose("0000:00:00.0"), BadChange);
  EXPECT_THROW(node.SetVfs("0000:af:00.0", 9), BadChange);
  EXPECT_THROW(NamedNode("three"), BadChange);
}

TEST_F(RdmaNodeTest, ALaterProcessTakesTheNodeOver) {
  ChangeTree(directory_, "two", {"vfs", "0000:af:00.0", "0"});
  ChangeTree(directory_, "two", {"vfs", "0000:af:00.0", "4", "cable", "0000:af:00.0", "off"});
  EXPECT_TRUE(Has("/dev/infiniband/uverbs6"));
  EXPECT_EQ(Line("/sys/class/infiniband/mlx5_1/ports/1/phys_state"), "3: Disabled");
  EXPECT_THROW(ChangeTree(directory_, "pairs", {}), BadChange);
  EXPECT_THROW(ChangeTree(directory_, "two", {"cable"}), BadChange);
}

TEST_F(RdmaNodeTest, ACardOfAwsHasANodeForProgramsAlone) {
  const RdmaNode node(directory_, NamedNode("efa"));
  EXPECT_EQ(Line("/sys/class/infiniband/efa_1/node_type"), "7: unspecified");
  EXPECT_EQ(Line("/sys/class/infiniband_verbs/uverbs1/ibdev"), "efa_1");
  EXPECT_FALSE(Has("/sys/class/infiniband_mad/umad1"));
  EXPECT_FALSE(Has("/sys/bus/pci/devices/0000:9d:00.0/net"));
}

TEST_F(RdmaNodeTest, PairsAreBelowOneSwitch) {
  const RdmaNode node(directory_, Pairs());
  EXPECT_EQ(node.node().nics.size(), 8U);
  EXPECT_EQ(node.node().others.size(), 8U);
  EXPECT_TRUE(Has("/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:02.0/0000:15:00.0"));
  EXPECT_TRUE(Has("/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:00.0/0000:13:00.0"));
}

}  // namespace
}  // namespace tessera::rdma
