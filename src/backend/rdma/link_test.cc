// SPDX-License-Identifier: Apache-2.0
#include "backend/rdma/link.h"

#include <gtest/gtest.h>

#include "backend/rdma/node_test.h"
#include "rdma/node.h"

namespace tessera::rdma {
namespace {

using Kind = LinkState::Kind;
using LinkTest = NodeTest;

TEST(ParseState, TakesTheNumberBeforeTheWord) {
  EXPECT_EQ(ParseState("4: ACTIVE"), 4);
  EXPECT_EQ(ParseState("5"), 5);
  EXPECT_EQ(ParseState("ACTIVE"), std::nullopt);
  EXPECT_EQ(ParseState(""), std::nullopt);
  EXPECT_EQ(ParseState("99999999999: ACTIVE"), std::nullopt);
}

TEST(ParseFatal, TakesTheSumOfTheLastLine) {
  EXPECT_EQ(ParseFatal("Undefined 0\nDLP 3\nTOTAL_ERR_FATAL 3\n"), 3U);
  EXPECT_EQ(ParseFatal("Undefined 0\nDLP 3\n"), std::nullopt);
  EXPECT_EQ(ParseFatal("TOTAL_ERR_FATAL many\n"), std::nullopt);
}

TEST(Growth, TellsEachGrowthOnceAndNothingOfABeginning) {
  Growth growth;
  EXPECT_EQ(growth.Look("a", 5), 0U);
  EXPECT_EQ(growth.Look("a", 7), 2U);
  EXPECT_EQ(growth.Look("a", 7), 0U);
  EXPECT_EQ(growth.Look("a", std::nullopt), 0U);
  EXPECT_EQ(growth.Look("a", 1), 0U);
  EXPECT_EQ(growth.Look("a", 2), 1U);
  EXPECT_EQ(growth.Look("b", 9), 0U);
}

TEST_F(LinkTest, OfPortsWithoutAnInterfaceTheBestCounts) {
  const RdmaNode node(directory_, Two());
  const std::string ports = "/sys/bus/pci/devices/0000:3b:00.0/infiniband/mlx5_0/ports/";
  const Function function{.address = "0000:3b:00.0", .hca = "mlx5_0"};
  Write(ports + "1/state", "1: DOWN\n");
  Write(ports + "1/phys_state", "2: Polling\n");
  EXPECT_EQ(ReadLink(root_, function),
            (LinkState{Kind::kDown, "port 1 of mlx5_0 is DOWN (Polling)"}));
  Write(ports + "2/state", "3: ARMED\n");
  EXPECT_EQ(ReadLink(root_, function).kind, Kind::kDown);
  Write(ports + "2/state", "4: ACTIVE\n");
  EXPECT_EQ(ReadLink(root_, function), (LinkState{Kind::kUp, ""}));
}

// As of a card with two ports and one function.
class TwoPortsTest : public LinkTest {
 protected:
  TwoPortsTest() {
    Write(kCard + "infiniband/mlx5_0/ports/2/state", "4: ACTIVE\n");
    Write(kCard + "net/ibp59s0d1/dev_port", "1\n");
  }

  const std::string kCard = "/sys/bus/pci/devices/0000:3b:00.0/";
  RdmaNode node_{directory_, Two()};
  const Function function_{
      .address = "0000:3b:00.0", .interfaces = {"ibp59s0", "ibp59s0d1"}, .hca = "mlx5_0"};
};

TEST_F(TwoPortsTest, APortWithAnInterfaceIsNotHiddenByAnother) {
  EXPECT_EQ(ReadLink(root_, function_), (LinkState{Kind::kUp, ""}));
  node_.SetCable("0000:3b:00.0", false);
  EXPECT_EQ(ReadLink(root_, function_),
            (LinkState{Kind::kDown, "port 1 of mlx5_0 is DOWN (Polling)"}));
}

TEST_F(TwoPortsTest, APortWhoseInterfaceIsNotHereDoesNotCountBesideOneThatIs) {
  Write(kCard + "infiniband/mlx5_0/ports/2/state", "1: DOWN\n");
  Function function = function_;
  function.interfaces.pop_back();
  EXPECT_EQ(ReadLink(root_, function), (LinkState{Kind::kUp, ""}));
}

TEST_F(TwoPortsTest, AnOldDriverHasThePortsNumberInAnotherFile) {
  ASSERT_TRUE(os::RemoveFile(directory_ + kCard + "net/ibp59s0d1/dev_port"));
  Write(kCard + "net/ibp59s0d1/dev_id", "0x1\n");
  Write(kCard + "infiniband/mlx5_0/ports/2/state", "2: INIT\n");
  EXPECT_EQ(ReadLink(root_, function_).kind, Kind::kNoFabric);
}

TEST_F(LinkTest, AnInterfaceAloneHasItsCarrier) {
  RdmaNode node(directory_, Two());
  const Function function{.address = "0000:af:00.0", .interfaces = {"ens3f0np0"}};
  EXPECT_EQ(ReadLink(root_, function).kind, Kind::kUp);
  node.SetCable("0000:af:00.0", false);
  EXPECT_EQ(ReadLink(root_, function), (LinkState{Kind::kDown, "ens3f0np0 has no carrier"}));
  node.SetUp("0000:af:00.0", false);
  EXPECT_EQ(ReadLink(root_, function), (LinkState{Kind::kOff, "ens3f0np0 is set down"}));
}

// Drivers of Ethernet say "Disabled" of an interface without a carrier, whatever the reason.
TEST_F(LinkTest, OfEthernetTheInterfaceKnowsWhetherAPersonHasSetItDown) {
  const RdmaNode node(directory_, Two());
  const std::string pf = "/sys/bus/pci/devices/0000:af:00.0/";
  Function function{
      .address = "0000:af:00.0", .interfaces = {"ens3f0np0"}, .link = "ether", .hca = "mlx5_1"};
  Write(pf + "infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
  Write(pf + "infiniband/mlx5_1/ports/1/phys_state", "3: Disabled\n");
  EXPECT_EQ(ReadLink(root_, function),
            (LinkState{Kind::kDown, "port 1 of mlx5_1 is DOWN (Disabled)"}));
  Write(pf + "net/ens3f0np0/flags", "0x1002\n");
  EXPECT_EQ(ReadLink(root_, function).kind, Kind::kOff);
  // Some drivers number the ports of the card, of which each function has one.
  Write(pf + "net/ens3f0np0/dev_port", "1\n");
  EXPECT_EQ(ReadLink(root_, function).kind, Kind::kOff);
  function.interfaces.clear();
  EXPECT_EQ(ReadLink(root_, function).kind, Kind::kDown);
}

TEST_F(LinkTest, OfInfiniBandThePortKnowsWhetherAPersonHasSetItDown) {
  RdmaNode node(directory_, Two());
  node.SetUp("0000:3b:00.0", false);
  EXPECT_EQ(ReadLink(root_, {.address = "0000:3b:00.0", .link = "infiniband", .hca = "mlx5_0"}),
            (LinkState{Kind::kOff, "port 1 of mlx5_0 is DOWN (Disabled)"}));
}

TEST_F(LinkTest, AnInterfaceThatAPodHasTakenIsNotAsked) {
  RdmaNode node(directory_, Two());
  node.SetAway("0000:af:00.1", true);
  EXPECT_EQ(ReadLink(root_, {.address = "0000:af:00.1", .interfaces = {"ens3f0v0"}}), LinkState());
}

TEST_F(LinkTest, AnInterfaceOfInfiniBandDoesNotExcuseItsPort) {
  RdmaNode node(directory_, Two());
  node.SetCable("0000:3b:00.0", false);
  Write("/sys/bus/pci/devices/0000:3b:00.0/net/ibp59s0/flags", "0x1002\n");
  EXPECT_EQ(ReadLink(root_, {.address = "0000:3b:00.0",
                             .interfaces = {"ibp59s0"},
                             .link = "infiniband",
                             .hca = "mlx5_0"})
                .kind,
            Kind::kDown);
}

TEST_F(LinkTest, AFunctionWithoutAFaceHasNoLink) {
  EXPECT_EQ(ReadLink(root_, {.address = "0000:af:00.1"}), LinkState());
}

TEST_F(LinkTest, AnRdmaDeviceWithoutPortsIsNotKnown) {
  EXPECT_EQ(ReadLink(root_, {.address = "0000:af:00.1", .hca = "mlx5_2"}),
            (LinkState{Kind::kUnknown, "the ports of mlx5_2 cannot be read"}));
}

}  // namespace
}  // namespace tessera::rdma
