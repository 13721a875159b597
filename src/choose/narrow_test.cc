// SPDX-License-Identifier: Apache-2.0
// Preferred allocations of devices that go together or exclude each other.
#include "choose/narrow.h"

#include <gtest/gtest.h>

#include <utility>

#include "choose/choose.h"

namespace tessera {
namespace {

constexpr char kCard[] = "fixture.com/card";

using Ids = std::vector<std::string>;

class NarrowTest : public testing::Test {
 protected:
  void Add(const std::string& id, DeviceTraits traits) {
    Device device;
    device.key = {kCard, id};
    device.traits = std::move(traits);
    inventory_.devices.push_back(std::move(device));
  }
  // Chooses from `available`, or from all if it is empty.
  Ids Chosen(int size, const Ids& must_include = {}, Ids available = {}) {
    const Offer offer = Divide(kCard, {policy_}, inventory_, kCard,
                               [](const Device&) -> std::optional<Error> { return std::nullopt; });
    if (available.empty()) {
      for (const Share& share : offer.shares) available.push_back(share.id);
    }
    return Choose(offer, {available, must_include, size, Placement::kSpread});
  }

  Policy policy_;
  Inventory inventory_;
};

class BundlesTest : public NarrowTest {
 protected:
  BundlesTest() {
    Add("0", {});
    Add("1", {.bundle = "a"});
    Add("2", {.bundle = "a"});
    Add("3", {.bundle = "b"});
    Add("4", {.bundle = "b"});
  }
};

TEST_F(BundlesTest, AreProposedWhole) {
  EXPECT_EQ(Chosen(2), (Ids{"1", "2"}));
  EXPECT_EQ(Chosen(4), (Ids{"1", "2", "3", "4"}));
}

TEST_F(BundlesTest, LeaveWhatIsWantedBesidesToDevicesThatGoAlone) {
  EXPECT_EQ(Chosen(1), (Ids{"0"}));
  EXPECT_EQ(Chosen(3), (Ids{"1", "2", "0"}));
}

TEST_F(BundlesTest, OnesThatAreBegunAreCompletedFirst) {
  EXPECT_EQ(Chosen(2, {"4"}), (Ids{"4", "3"}));
}

TEST_F(BundlesTest, OnesThatAreNotAllFreeAreLeftAlone) {
  EXPECT_EQ(Chosen(2, {}, {"0", "1", "3", "4"}), (Ids{"3", "4"}));
}

TEST_F(BundlesTest, OnesThatAreDividedGiveAShareOfEachFirst) {
  policy_ = {Division::kReplicas, 2};

  EXPECT_EQ(Chosen(3, {}, {"1::0", "1::1", "2::0", "2::1"}), (Ids{"1::0", "2::0", "1::1"}));
}

class ExclusionTest : public NarrowTest {
 protected:
  ExclusionTest() {
    Add("0", {.takes = {"a", "b"}});
    Add("0-a", {.takes = {"a"}});
    Add("0-b", {.takes = {"b"}});
    Add("1", {.takes = {"c", "d"}});
    Add("1-c", {.takes = {"c"}});
  }
};

TEST_F(ExclusionTest, WhatTakesLessIsProposed) {
  EXPECT_EQ(Chosen(1), (Ids{"0-a"}));
  EXPECT_EQ(Chosen(4), (Ids{"0-a", "0-b", "1-c"}));
}

TEST_F(ExclusionTest, NothingIsProposedBesideWhatExcludesIt) {
  EXPECT_EQ(Chosen(3, {"0"}), (Ids{"0", "1-c"}));
  EXPECT_EQ(Chosen(3, {"0-b"}), (Ids{"0-b", "0-a", "1-c"}));
}

TEST_F(ExclusionTest, TheWholeIsProposedWhereNoPartOfItIsFree) {
  EXPECT_EQ(Chosen(2, {}, {"0", "1"}), (Ids{"0", "1"}));
}

TEST(Narrow, SaysNothingOfDevicesThatGoAloneAndExcludeNone) {
  Inventory inventory;
  Device device;
  device.key = {kCard, "0"};
  inventory.devices.push_back(device);
  const Offer offer = Divide(kCard, {}, inventory, kCard,
                             [](const Device&) -> std::optional<Error> { return std::nullopt; });

  EXPECT_FALSE(Narrow(offer, Ids{"0"}, {}, 1));
}

}  // namespace
}  // namespace tessera
