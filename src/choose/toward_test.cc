// SPDX-License-Identifier: Apache-2.0
#include "choose/toward.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using Ids = std::vector<std::string>;

constexpr char kGpu[] = "a.com/gpu";
constexpr char kNic[] = "b.com/nic";

// On one of the switches of the bus; -1: on the root complex, as in a virtual machine.
Device On(const std::string& source, const std::string& id, int which, int slot) {
  Device device;
  device.key = {source, id};
  device.traits = DeviceTraits{
      .pci_path = which < 0 ? fmt::format("pci0000:00/0000:00:{:02x}.0", slot)
                            : fmt::format("pci0000:00/0000:00:0{}.0/0000:01:00.0/0000:02:{:02x}.0",
                                          which, slot)};
  return device;
}

class TowardTest : public testing::Test {
 protected:
  // Two GPUs and two cards on each of four switches.
  void Switches() {
    for (int i = 0; i < 8; ++i) {
      gpus_.devices.push_back(On(kGpu, std::to_string(i), i / 2, 1 + i % 2));
      nics_.devices.push_back(On(kNic, "n" + std::to_string(i), i / 2, 3 + i % 2));
    }
  }
  void VirtualMachine() {
    for (int i = 0; i < 8; ++i) {
      gpus_.devices.push_back(On(kGpu, std::to_string(i), -1, 16 + i));
      nics_.devices.push_back(On(kNic, "n" + std::to_string(i), -1, 8 + i));
    }
  }
  static Offer OfferOf(const std::string& resource, const Inventory& inventory,
                       const Policy& policy = {}) {
    return Divide(resource, {policy}, inventory, resource,
                  [](const Device&) -> std::optional<Error> { return std::nullopt; });
  }
  // The cards for a container that has just got these GPUs.
  Ids Cards(const Ids& gpus, int size, Ids available = {}, const Policy& policy = {}) {
    const Offer offer = OfferOf(kNic, nics_, policy);
    if (available.empty()) {
      for (const Share& share : offer.shares) available.push_back(share.id);
    }
    return Toward(offer, {.available = available, .must_include = {}, .size = size},
                  {std::make_shared<const Offer>(OfferOf(kGpu, gpus_)), gpus});
  }

  Inventory gpus_;
  Inventory nics_;
};

TEST_F(TowardTest, EachDeviceBringsItsPartner) {
  Switches();

  EXPECT_EQ(Cards({"2"}, 1), Ids{"n2"});
  EXPECT_EQ(Cards({"3", "6"}, 2), (Ids{"n3", "n6"}));
}

TEST_F(TowardTest, InAVirtualMachineTheFirstGoesWithTheFirst) {
  VirtualMachine();

  EXPECT_EQ(Cards({"5"}, 1), Ids{"n5"});
}

TEST_F(TowardTest, OneWhosePartnerIsTakenGetsTheNearestOfTheRest) {
  Switches();

  EXPECT_EQ(Cards({"2"}, 1, {"n0", "n3", "n4"}), Ids{"n3"});
  EXPECT_EQ(Cards({"2", "3"}, 2, {"n0", "n3", "n4"}), (Ids{"n3", "n0"}));
}

TEST_F(TowardTest, NoMoreAreChosenThanAreWantedOrWereGranted) {
  Switches();

  EXPECT_EQ(Cards({"0", "1", "2"}, 2), (Ids{"n0", "n1"}));
  EXPECT_EQ(Cards({"0"}, 4), Ids{"n0"});
  EXPECT_EQ(Cards({"0"}, 0), Ids());
}

TEST_F(TowardTest, OfADividedCardOneShareIsChosen) {
  Switches();

  EXPECT_EQ(Cards({"4"}, 1, {}, {Division::kReplicas, 4}), Ids{"n4::0"});
}

TEST_F(TowardTest, WhatExcludesAChosenOneIsNotChosen) {
  Switches();
  Inventory nics;
  for (Device nic : nics_.devices) {
    DeviceTraits traits = *nic.traits;
    traits.takes = {nic.key.id == "n0" || nic.key.id == "n1" ? "iommu/7" : nic.key.id};
    nic.traits = traits;
    nics.devices.push_back(nic);
  }
  nics_ = nics;

  EXPECT_EQ(Cards({"0", "1"}, 2), (Ids{"n0", "n2"}));
}

TEST_F(TowardTest, WhatGoesTogetherIsLeftToChoose) {
  Switches();
  Inventory nics;
  for (Device nic : nics_.devices) {
    DeviceTraits traits = *nic.traits;
    traits.bundle = "package";
    nic.traits = traits;
    nics.devices.push_back(nic);
  }
  nics_ = nics;

  EXPECT_EQ(Cards({"0"}, 1), Ids());
}

TEST_F(TowardTest, ResourcesWithTheSameHardwareDoNotSteerEachOther) {
  Switches();
  nics_ = gpus_;

  EXPECT_EQ(Cards({"0"}, 1), Ids());
}

TEST_F(TowardTest, WithoutTheBusNothingIsChosen) {
  Switches();
  gpus_ = {};
  Device gpu;
  gpu.key = {kGpu, "0"};
  gpus_.devices.push_back(gpu);
  EXPECT_EQ(Cards({"0"}, 1), Ids());

  gpus_ = {};
  nics_ = {};
  Switches();
  EXPECT_EQ(Cards({"unknown"}, 1), Ids());
}

}  // namespace
}  // namespace tessera
