// SPDX-License-Identifier: Apache-2.0
#include "device/pci_path.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

// A port of the root complex with a switch, one of whose ports has another switch.
const std::string kPort = "pci0000:40/0000:40:01.1";
const std::string kSwitch = kPort + "/0000:41:00.0";
const std::string kGpu = kSwitch + "/0000:42:00.0/0000:43:00.0";
const std::string kNic = kSwitch + "/0000:42:01.0/0000:44:00.0";
const std::string kFarNic = kSwitch + "/0000:42:02.0/0000:45:00.0/0000:46:00.0/0000:47:00.0";

Device At(const std::string& source, const std::string& id, const std::string& path) {
  Device device;
  device.key = {source, id};
  device.traits = DeviceTraits{.pci_path = path};
  return device;
}

TEST(PciPoints, AreOfWhatTwoFunctionsHaveInCommon) {
  EXPECT_EQ(PciPoints(kNic, kPort + "/0000:41:00.0/0000:42:01.0/0000:44:00.1"), 60);
  EXPECT_EQ(PciPoints(kNic, kNic), 60);
  EXPECT_EQ(PciPoints(kGpu, kNic), 50);
  EXPECT_EQ(PciPoints(kGpu, kFarNic), 40);
  EXPECT_EQ(PciPoints(kGpu, "pci0000:40/0000:40:03.1/0000:60:00.0"), 30);
  EXPECT_EQ(PciPoints(kGpu, "pci0000:c0/0000:c0:01.1/0000:c1:00.0"), 0);
}

TEST(PciPoints, AreTheSameFromEitherSide) {
  EXPECT_EQ(PciPoints(kFarNic, kGpu), 40);
  EXPECT_EQ(PciPoints(kGpu, kSwitch), PciPoints(kSwitch, kGpu));
}

TEST(PciPoints, WhatIsNotOnTheBusIsNearToNothing) {
  EXPECT_EQ(PciPoints("", ""), 0);
  EXPECT_EQ(PciPoints(kGpu, ""), 0);
}

using Links = std::vector<Link>;

TEST(PciLinks, NameDevicesOfOtherSourcesAndOfTheirOwn) {
  const DeviceList devices = {At("fixture.com/gpu", "0", kGpu), At("fixture.com/gpu", "1", kFarNic),
                              At("fixture.com/nic", "0", kNic),
                              At("fixture.com/nic", "1", "pci0000:c0/0000:c1:00.0"),
                              At("fixture.com/tty", "0", "")};

  EXPECT_EQ(PciLinks(devices),
            (std::vector<Links>{{{"1", 40, ""}, {"0", 50, "fixture.com/nic"}},
                                {{"0", 40, ""}, {"0", 40, "fixture.com/nic"}},
                                {{"0", 50, "fixture.com/gpu"}, {"1", 40, "fixture.com/gpu"}},
                                {},
                                {}}));
}

// Otherwise each of thousands below one root complex would name all others.
TEST(PciLinks, OfManyTheNearestAreNamed) {
  constexpr size_t kSwitches = 100;
  DeviceList devices;
  for (size_t n = 0; n < 20 * kSwitches; ++n) {
    devices.push_back(At("fixture.com/nic", std::to_string(n),
                         "pci0000:40/0000:40:01.1/" + std::to_string(n % kSwitches) + "/" +
                             std::to_string(n / kSwitches) + "/0.0"));
  }
  const std::vector<Links> links = PciLinks(devices);

  ASSERT_EQ(links.size(), devices.size());
  for (size_t n = 0; n < links.size(); ++n) {
    EXPECT_EQ(links[n].size(), kMostPciLinks);
    for (const Link& link : links[n]) {
      EXPECT_EQ(link.points, 50);
      EXPECT_EQ(std::stoul(link.peer) % kSwitches, n % kSwitches);
      EXPECT_NE(std::stoul(link.peer), n);
    }
  }
}

}  // namespace
}  // namespace tessera
