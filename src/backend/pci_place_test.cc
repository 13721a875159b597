// SPDX-License-Identifier: Apache-2.0
#include "backend/pci_place.h"

#include <gtest/gtest.h>

#include "backend/fixture_kind_test.h"

namespace tessera {
namespace {

constexpr char kPath[] = "pci0000:40/0000:40:01.0/0000:47:00.0";

TEST(PciPlace, IsThePathThatTheBusLinksToAndTheGroupsNumber) {
  const FixtureTree tree;
  tree.AddPci(kPath, "57");
  FixtureBackend backend("fixture.com/card", tree.root());
  backend.cards = {{.id = "a", .address = "0000:47:00.0"}, {.id = "b"}};

  const std::vector<Device> devices = backend.Scan().value();

  EXPECT_EQ(*devices[0].traits, (DeviceTraits{.pci_path = kPath, .iommu_group = 57}));
  EXPECT_TRUE(devices[1].traits.empty());
}

TEST(PciPlace, WithoutAnIommuThereIsNoGroup) {
  const FixtureTree tree;
  tree.AddPci(kPath);
  DeviceTraits traits;

  ReadPciPlace(tree.root(), "0000:47:00.0", traits);

  EXPECT_EQ(traits, DeviceTraits{.pci_path = kPath});
}

TEST(PciPlace, WhatIsNotOnTheBusHasNone) {
  const FixtureTree tree;
  DeviceTraits traits;

  ReadPciPlace(tree.root(), "0000:47:00.0", traits);

  EXPECT_EQ(traits, DeviceTraits());
}

TEST(PciPlace, AFunctionIsOffTheBusIfItsWholeHeadReadsAsOnes) {
  const FixtureTree tree;
  tree.AddPci(kPath);
  const auto reads = [&](const std::string& config) {
    tree.Write("/sys/devices/" + std::string(kPath) + "/config", config);
    return IsOffTheBus(tree.root(), "0000:47:00.0");
  };

  EXPECT_TRUE(reads(std::string(64, '\xff')));
  EXPECT_FALSE(reads("\xff\xff\xff\xff\x06\x04\x10\x01"));  // of a virtual function
  EXPECT_FALSE(reads("\xff\xff"));
  EXPECT_FALSE(IsOffTheBus(tree.root(), "0000:48:00.0"));
}

}  // namespace
}  // namespace tessera
