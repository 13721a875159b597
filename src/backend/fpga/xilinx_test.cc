// SPDX-License-Identifier: Apache-2.0
#include "backend/fpga/xilinx.h"

#include <gtest/gtest.h>

#include "backend/fpga/node_test.h"
#include "fpga/node.h"

namespace tessera::fpga {
namespace {

using Texts = std::vector<std::string>;

constexpr char kU250[] = "/sys/devices/pci0000:d7/0000:d7:00.0/0000:d8:00.1";

class XilinxTest : public NodeTest {};

TEST_F(XilinxTest, ACardHasBothFunctionsNodes) {
  const FpgaNode node(directory_, Alveo());
  const std::vector<Card> cards = ReadXilinx(root_);
  ASSERT_EQ(cards.size(), 2U);
  const Card& card = cards[1];
  EXPECT_EQ(card.id, "0000:d8:00.1");
  EXPECT_EQ(card.address, "0000:d8:00.1");
  EXPECT_EQ(card.profile, "xilinx_u250_gen3x16_xdma_shell_4_1-0");
  EXPECT_EQ(card.model, "xilinx_u250_gen3x16_xdma_shell_4_1");
  EXPECT_EQ(card.bundle, "");
  EXPECT_EQ(NodesOf(card), (Texts{"/dev/dri/renderD130 rwm", "/dev/xclmgmt55296 rwm"}));
  EXPECT_EQ(card.takes, Texts{"fpga/0000:d8:00.1"});
  EXPECT_EQ(card.functions, (Texts{"0000:d8:00.1", "0000:d8:00.0"}));
  EXPECT_EQ(TroubleOf(card), "");
}

TEST_F(XilinxTest, ACardOfAVirtualMachineHasTheNodesOfItsOneFunction) {
  const FpgaNode node(directory_, Alveo());
  const Card card = ReadXilinx(root_)[0];
  EXPECT_EQ(card.id, "0000:af:00.0");
  EXPECT_EQ(card.profile, "xilinx_u280_xdma_201920_3-1579649056");
  EXPECT_EQ(NodesOf(card), (Texts{"/dev/dri/renderD131 rwm", "/dev/xfpga/dma.qdma.u44800.0 rwm"}));
}

TEST_F(XilinxTest, ACardThatIsLoadingIsInTroubleAlone) {
  FpgaNode node(directory_, Alveo());
  node.Load(0);
  const std::vector<Card> cards = ReadXilinx(root_);
  EXPECT_EQ(TroubleOf(cards[1]), "0000:d8:00.1 is still loading: its shell has no name yet");
  EXPECT_EQ(TroubleOf(cards[0]), "");
  node.Loaded(0, "xilinx_u250_gen3x16_base_4");
  EXPECT_EQ(ReadXilinx(root_)[1].profile, "xilinx_u250_gen3x16_base_4-0");
}

TEST_F(XilinxTest, ACardWhoseNodeIsNotMadeYetIsInTrouble) {
  const FpgaNode node(directory_, Alveo());
  Remove(std::string(kU250) + "/drm");
  EXPECT_EQ(TroubleOf(ReadXilinx(root_)[1]), "0000:d8:00.1 is still loading: it has no node yet");
}

TEST_F(XilinxTest, AShellWithABadNameIsInTrouble) {
  const FpgaNode node(directory_, Alveo());
  Write(std::string(kU250) + "/rom.u.16777216.0/VBNV", "a b\n");
  EXPECT_EQ(TroubleOf(ReadXilinx(root_)[1]),
            "the name of the shell of 0000:d8:00.1 cannot be a resource's");
}

TEST_F(XilinxTest, TheTwoDevicesOfAU30GoTogether) {
  const FpgaNode node(directory_, U30());
  const std::vector<Card> cards = ReadXilinx(root_);
  ASSERT_EQ(cards.size(), 2U);
  EXPECT_EQ(cards[0].bundle, "XFL1SWLOEQ4U");
  EXPECT_EQ(cards[1].bundle, "XFL1SWLOEQ4U");
  EXPECT_EQ(cards[0].id, "0000:3b:00.1");
}

TEST_F(XilinxTest, AU30WithoutAReadableSerialNumberIsInTrouble) {
  const FpgaNode node(directory_, U30());
  const std::string file =
      "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1/xmc.u.19922944/serial_num";
  Write(file, "\xff\n");
  EXPECT_EQ(TroubleOf(ReadXilinx(root_)[0]),
            "/sys/bus/pci/devices/0000:3b:00.1/xmc.u.19922944/serial_num has no serial number");
}

TEST_F(XilinxTest, AU30WithoutSensorsIsStillLoading) {
  const FpgaNode node(directory_, U30());
  ASSERT_TRUE(os::RemoveTree(directory_ +
                             "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1/xmc.u.19922944"));
  EXPECT_EQ(TroubleOf(ReadXilinx(root_)[0]),
            "0000:3b:00.1 is still loading: it has no serial number yet");
}

TEST_F(XilinxTest, TheFileOfAFunctionsRomIsNoShell) {
  const FpgaNode node(directory_, Alveo());
  Write(std::string(kU250) + "/rom", "");
  EXPECT_EQ(TroubleOf(ReadXilinx(root_)[1]), "");
}

TEST_F(XilinxTest, TwoFunctionsForUsersAreTwoDevices) {
  SimNode hardware = Alveo();
  hardware.xilinx.push_back(hardware.xilinx[0]);
  hardware.xilinx.back().user = "0000:d8:00.2";
  hardware.xilinx.back().management = "";
  hardware.xilinx.back().render = 132;
  const FpgaNode node(directory_, hardware);
  const std::vector<Card> cards = ReadXilinx(root_);
  ASSERT_EQ(cards.size(), 3U);
  EXPECT_EQ(NodesOf(cards[2]), (Texts{"/dev/dri/renderD132 rwm", "/dev/xclmgmt55296 rwm"}));
}

TEST_F(XilinxTest, OtherFunctionsOfTheVendorsAreNone) {
  const FpgaNode node(directory_, Alveo());
  Remove(std::string(kU250) + "/user_pf");
  EXPECT_EQ(ReadXilinx(root_).size(), 1U);
}

}  // namespace
}  // namespace tessera::fpga
