// SPDX-License-Identifier: Apache-2.0
// What checks say of functions and of their cards.
#include <gtest/gtest.h>

#include "backend/rdma/backend_test.h"

namespace tessera::rdma {
namespace {

TEST_F(RdmaTest, ALostFunctionCostsNoOther) {
  const std::vector<Device> devices = Scan();
  node_.Lose(kVf0);
  EXPECT_EQ(Checked(devices[1]), "fatal device-lost 0000:af:00.1 no longer answers on its bus");
  EXPECT_EQ(Checked(devices[2]), "good");
  events_.AwaitRescan();
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.1! 0000:af:00.2 0000:af:00.3 0000:af:00.4");
  node_.Return(kVf0);
  events_.AwaitRescan();
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.1 0000:af:00.2 0000:af:00.3 0000:af:00.4");
}

// A scan does not look at the bus: one that each check asks for would only ask for the next check.
TEST_F(RdmaTest, ALostFunctionWhoseDriverStaysMakesNoScans) {
  const Device device = DeviceAt(kVf0);
  Write("/sys/bus/pci/devices/0000:af:00.1/config", std::string(64, '\xff'));
  EXPECT_EQ(Checked(device), "fatal device-lost 0000:af:00.1 no longer answers on its bus");
  EXPECT_EQ(events_.rescans, 0);
}

TEST_F(RdmaTest, AVirtualFunctionHasNoIdsInItsConfiguration) {
  EXPECT_EQ(os::ReadFile(directory_ + "/sys/bus/pci/devices/0000:af:00.1/config", 8).value(),
            std::string("\xff\xff\xff\xff\x06\x04\x10\x00", 8));
  EXPECT_EQ(Checked(DeviceAt(kVf0)), "good");
}

TEST_F(RdmaTest, APulledCableIsToldOfTheCardAndOfItsVirtualFunctions) {
  const std::vector<Device> devices = Scan();
  node_.SetCable(kPf, false);
  EXPECT_EQ(Checked(devices[0]), "good");
  EXPECT_EQ(Checked(devices[1]),
            "bad link-down 0000:af:00.1 is a part of 0000:af:00.0: port 1 of mlx5_1 is DOWN "
            "(Disabled)");
  node_.SetCable(kPf, true);
  EXPECT_EQ(Checked(devices[1]), "good");
}

TEST_F(RdmaTest, AVirtualFunctionThatNobodyHasSetUpIsNoFault) {
  const Device device = DeviceAt(kVf0);
  Write("/sys/bus/pci/devices/0000:af:00.1/infiniband/mlx5_2/ports/1/state", "1: DOWN\n");
  EXPECT_EQ(Checked(device), "good");
}

TEST_F(RdmaTest, AFunctionThatSleepsIsNotAsked) {
  const Device device = DeviceAt(kIb);
  Write("/sys/bus/pci/devices/0000:3b:00.0/config", std::string(64, '\xff'));
  Write("/sys/bus/pci/devices/0000:3b:00.0/power/runtime_status", "suspended\n");
  EXPECT_EQ(Checked(device), "good");
}

TEST_F(RdmaTest, ACardWhoseFilesDoNotAnswerCostsNoOther) {
  const std::vector<Device> devices = Scan();
  const std::string card = "/sys/bus/pci/devices/0000:3b:00.0/";
  Silence(card + "infiniband/mlx5_0/ports/1/state");
  Silence(card + "aer_dev_fatal");
  Silence(card + "config");
  EXPECT_EQ(Checked(devices[0]),
            "unknown unreadable 0000:3b:00.0: the state of port 1 of mlx5_0 cannot be read");
  EXPECT_EQ(Checked(devices[1]), "good");
  EXPECT_EQ(Ids(), "0000:3b:00.0 0000:af:00.1 0000:af:00.2 0000:af:00.3 0000:af:00.4");
}

// Without tables of addresses and with the port's number in another file.
TEST_F(RdmaTest, ACardOfAnOldKernelWorks) {
  const std::string card = directory_ + "/sys/bus/pci/devices/0000:3b:00.0/";
  ASSERT_TRUE(os::RemoveTree(card + "infiniband/mlx5_0/ports/1/gid_attrs"));
  ASSERT_TRUE(os::RemoveFile(card + "net/ibp59s0/dev_port"));
  ASSERT_TRUE(os::RemoveFile(card + "aer_dev_fatal"));
  const Device device = DeviceAt(kIb);
  EXPECT_EQ(Checked(device), "good");
  node_.SetSubnetManager(false);
  EXPECT_EQ(Checked(device).substr(0, 33), "bad link-down 0000:3b:00.0: port ");
}

TEST_F(RdmaTest, InfiniBandWithoutASubnetManagerIsSick) {
  const Device device = DeviceAt(kIb);
  node_.SetSubnetManager(false);
  EXPECT_EQ(Checked(device),
            "bad link-down 0000:3b:00.0: port 1 of mlx5_0 is INIT: no subnet manager has set it "
            "up");
  node_.SetSubnetManager(true);
  EXPECT_EQ(Checked(device), "good");
}

TEST_F(RdmaTest, AnInterfaceThatAPersonHasSetDownIsNoFault) {
  const std::vector<Device> devices = Scan();
  node_.SetUp(kVf0, false);
  EXPECT_EQ(Checked(devices[1]), "good");
  node_.SetCable(kPf, false);
  EXPECT_EQ(Checked(devices[1]),
            "bad link-down 0000:af:00.1 is a part of 0000:af:00.0: port 1 of mlx5_1 is DOWN "
            "(Disabled)");
  node_.SetUp(kPf, false);
  EXPECT_EQ(Checked(devices[1]), "good");
}

TEST_F(RdmaTest, APortThatCannotBeReadIsNotGood) {
  const Device device = DeviceAt(kIb);
  Write("/sys/bus/pci/devices/0000:3b:00.0/infiniband/mlx5_0/ports/1/state", "");
  EXPECT_EQ(Checked(device),
            "unknown unreadable 0000:3b:00.0: the state of port 1 of mlx5_0 cannot be read");
}

TEST_F(RdmaTest, AFatalErrorOfThePciLinkIsToldOnce) {
  const Device device = DeviceAt(kIb);
  EXPECT_EQ(Checked(device), "good");
  node_.SetFatalErrors(kIb, 2);
  EXPECT_EQ(Checked(device), "fatal fatal-event 0000:3b:00.0: 2 fatal errors of its PCI link");
  EXPECT_EQ(Checked(device), "good");
}

TEST_F(RdmaTest, AFatalErrorOfACardIsToldOfItsVirtualFunctions) {
  const Device device = DeviceAt(kVf0);
  EXPECT_EQ(Checked(device), "good");
  node_.SetFatalErrors(kPf, 1);
  EXPECT_EQ(Checked(device),
            "fatal fatal-event 0000:af:00.1 is a part of 0000:af:00.0: 1 fatal error of its PCI "
            "link");
  EXPECT_EQ(Checked(device), "good");
}

TEST_F(RdmaTest, ALinkThatWentDownAndUpBetweenTwoChecksIsNoFaultAndIsLogged) {
  const Device device = DeviceAt(kIb);
  EXPECT_EQ(Checked(device), "good");
  node_.SetLinkDowned(kIb, 1);
  EXPECT_EQ(Checked(device), "good");
  EXPECT_EQ(Checked(device), "good");
  EXPECT_EQ(Told("a link went down since the last check"), 1U);
  EXPECT_EQ(Told("0000:3b:00.0: 1 time"), 1U);
}

class RdmaFreshTest : public RdmaTest {
 protected:
  RdmaFreshTest() : RdmaTest({}, Two(), Duration(3'600'000)) {}
};

TEST_F(RdmaFreshTest, ACheckSoonAfterAScanGoesByItsNamesAndAsksTheCardAlone) {
  const Device device = DeviceAt(kVf0);
  node_.Unplug(kVf0);
  EXPECT_EQ(Checked(device), "good");
  Scan();
  EXPECT_EQ(Checked(device), "fatal vanished 0000:af:00.1 is gone");
}

TEST_F(RdmaFreshTest, ACardThatIsLostIsFoundByTheFirstCheckOfItsFunctions) {
  node_.Lose(kPf);
  EXPECT_EQ(Checked(DeviceAt(kVf0)), "fatal device-lost 0000:af:00.0 no longer answers on its bus");
}

}  // namespace
}  // namespace tessera::rdma
