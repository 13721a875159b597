// SPDX-License-Identifier: Apache-2.0
#include "backend/fpga/intel.h"

#include <gtest/gtest.h>

#include "backend/fpga/node_test.h"
#include "fpga/node.h"

namespace tessera::fpga {
namespace {

using Mode = FpgaConfig::Mode;
using Texts = std::vector<std::string>;

constexpr char kNlb0Profile[] = "af-ce4.d84.zkiWk5jwXzOUbVYHCL4QithCTcSko8QT-J5DNoP5BAs";
constexpr char kRegionProfile[] = "region-ce48969398f05f33946d560708be108a";
constexpr char kFirst[] = "/sys/devices/pci0000:5d/0000:5d:00.0/0000:5e:00.0/fpga_region/region0";

class IntelTest : public NodeTest {
 protected:
  std::vector<Card> Read(Mode mode = Mode::kAf) const { return ReadIntel(root_, mode); }
  Texts Ids(Mode mode = Mode::kAf) const {
    Texts ids;
    for (const Card& card : Read(mode)) ids.push_back(card.id);
    return ids;
  }
};

TEST_F(IntelTest, APortIsADeviceWithItsFunctionsProfile) {
  const FpgaNode node(directory_, Pac());
  const std::vector<Card> cards = Read();
  ASSERT_EQ(cards.size(), 3U);
  const std::string fme = std::string(kFirst) + "/dfl-fme.0";
  const std::string port = std::string(kFirst) + "/dfl-port.0";
  const Card expected = {.id = "0000:5e:00.0-0",
                         .address = "0000:5e:00.0",
                         .profile = kNlb0Profile,
                         .model = "Intel FPGA 09c4",
                         .nodes = {NodeAt("/dev/dfl-port.0", "rw")},
                         .takes = {"fpga/0000:5e:00.0/0"},
                         .functions = {"0000:5e:00.0"},
                         .identity = {{fme + "/dfl-fme-region.0/fpga_region/region1/compat_id",
                                       "ce48969398f05f33946d560708be108a"},
                                      {port + "/afu_id", "d8424dc4a4a3c413f89e433683f9040b"}},
                         .registers = {fme + "/errors/catfatal_errors", port + "/errors/errors"}};
  EXPECT_EQ(NodesOf(cards[0]), NodesOf(expected));
  EXPECT_EQ(cards[0].id, expected.id);
  EXPECT_EQ(cards[0].address, expected.address);
  EXPECT_EQ(cards[0].profile, expected.profile);
  EXPECT_EQ(cards[0].model, expected.model);
  EXPECT_EQ(cards[0].takes, expected.takes);
  EXPECT_EQ(cards[0].functions, expected.functions);
  EXPECT_EQ(cards[0].identity, expected.identity);
  EXPECT_EQ(cards[0].registers, expected.registers);
  EXPECT_EQ(TroubleOf(cards[0]), "");
}

TEST_F(IntelTest, APortOfAVirtualFunctionIsItsCardsPort) {
  const FpgaNode node(directory_, Pac());
  const Card card = Read()[2];
  EXPECT_EQ(card.id, "0000:be:00.0-1");
  EXPECT_EQ(card.address, "0000:be:00.1");
  EXPECT_EQ(card.profile, kNlb0Profile);
  EXPECT_EQ(card.functions, (Texts{"0000:be:00.0", "0000:be:00.1"}));
  EXPECT_EQ(card.takes, Texts{"fpga/0000:be:00.0/1"});
}

TEST_F(IntelTest, ARegionHasThePortsOfItsCard) {
  const FpgaNode node(directory_, Pac());
  const std::vector<Card> cards = Read(Mode::kRegion);
  ASSERT_EQ(cards.size(), 2U);
  EXPECT_EQ(cards[1].id, "0000:be:00.0");
  EXPECT_EQ(cards[1].profile, kRegionProfile);
  EXPECT_EQ(NodesOf(cards[1]), (Texts{"/dev/dfl-port.1 rw", "/dev/dfl-port.2 rw"}));
  EXPECT_EQ(cards[1].takes, (Texts{"fpga/0000:be:00.0/0", "fpga/0000:be:00.0/1"}));
}

TEST_F(IntelTest, ARegionForDevelopersHasTheManagementEngineAsWell) {
  const FpgaNode node(directory_, Pac());
  const Card card = Read(Mode::kRegionDevel)[0];
  EXPECT_EQ(card.profile, kRegionProfile);
  EXPECT_EQ(NodesOf(card), (Texts{"/dev/dfl-port.0 rw", "/dev/dfl-fme.0 rw"}));
}

TEST_F(IntelTest, OpaesDriverHasOtherNames) {
  const FpgaNode node(directory_, Opae());
  const std::vector<Card> cards = Read();
  ASSERT_EQ(cards.size(), 2U);
  EXPECT_EQ(cards[1].id, "0000:be:00.0-0");
  EXPECT_EQ(cards[1].profile, kNlb0Profile);
  EXPECT_EQ(NodesOf(cards[1]), Texts{"/dev/intel-fpga-port.1 rw"});
  EXPECT_EQ(NodesOf(Read(Mode::kRegionDevel)[0]),
            (Texts{"/dev/intel-fpga-port.0 rw", "/dev/intel-fpga-fme.0 rw"}));
}

// As of a driver that cannot program its cards.
TEST_F(IntelTest, ACardWithoutAnInterfaceIsThereAndCostsNoOther) {
  const FpgaNode node(directory_, Opae());
  const std::string card = "/sys/devices/pci0000:5d/0000:5d:00.0/0000:5e:00.0";
  const std::string fme = card + "/fpga/intel-fpga-dev.0/intel-fpga-fme.0";
  Remove(fme + "/pr");
  const std::vector<Card> cards = Read();
  ASSERT_EQ(cards.size(), 2U);
  EXPECT_EQ(cards[0].id, "0000:5e:00.0-0");
  EXPECT_EQ(TroubleOf(cards[0]),
            "cannot open " + directory_ + fme + "/pr/interface_id: No such file or directory");
  EXPECT_EQ(TroubleOf(cards[1]), "");
}

TEST_F(IntelTest, IdsStayWhenDriversNumberAnewAndWhenOthersLeave) {
  FpgaNode node(directory_, Pac());
  const Texts before = Ids();
  EXPECT_EQ(before, (Texts{"0000:5e:00.0-0", "0000:be:00.0-0", "0000:be:00.0-1"}));
  node.Renumber(7);
  EXPECT_EQ(Ids(), before);
  EXPECT_EQ(NodesOf(Read()[0]), Texts{"/dev/dfl-port.7 rw"});
  node.Unplug(0);
  EXPECT_EQ(Ids(), (Texts{"0000:be:00.0-0", "0000:be:00.0-1"}));
}

TEST_F(IntelTest, AFunctionThatReadsAsOnesIsInTroubleAlone) {
  FpgaNode node(directory_, Pac());
  node.SetAfu(1, 0, std::string(32, 'f'));
  const std::vector<Card> cards = Read();
  EXPECT_EQ(TroubleOf(cards[1]),
            "/sys/devices/pci0000:bd/0000:bd:00.0/0000:be:00.0/fpga_region/region4/dfl-port.1/"
            "afu_id reads as ones: the card does not answer");
  EXPECT_EQ(cards[1].profile, "");
  EXPECT_EQ(TroubleOf(cards[0]), "");
  EXPECT_EQ(TroubleOf(cards[2]), "");
}

TEST_F(IntelTest, ACardWithoutAReadableInterfaceIsInTroubleAlone) {
  FpgaNode node(directory_, Pac());
  node.SetInterface(0, "\xff\xfe");
  EXPECT_EQ(TroubleOf(Read(Mode::kRegion)[0]),
            std::string(kFirst) +
                "/dfl-fme.0/dfl-fme-region.0/fpga_region/region1/compat_id has "
                "no id");
  Remove(std::string(kFirst) + "/dfl-fme.0");
  EXPECT_EQ(TroubleOf(Read(Mode::kRegion)[0]),
            "0000:5e:00.0 has no FME, so its interface is unknown");
  EXPECT_EQ(TroubleOf(Read(Mode::kRegion)[1]), "");
}

TEST_F(IntelTest, APortWithoutANumberIsInTrouble) {
  const FpgaNode node(directory_, Pac());
  Write(std::string(kFirst) + "/dfl-port.0/id", "");
  const Card card = Read()[0];
  EXPECT_EQ(card.id, "0000:5e:00.0-dfl-port.0");
  EXPECT_EQ(TroubleOf(card), std::string(kFirst) + "/dfl-port.0/id has no number");
}

TEST_F(IntelTest, RegionsOfOtherDriversAreNone) {
  const os::Root empty(directory_);
  Write("/sys", "");
  EXPECT_EQ(ReadIntel(empty, Mode::kAf).size(), 0U);
  Remove("/sys");
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/sys/class/fpga_region/region0/device"));
  EXPECT_EQ(ReadIntel(empty, Mode::kAf).size(), 0U);
}

}  // namespace
}  // namespace tessera::fpga
