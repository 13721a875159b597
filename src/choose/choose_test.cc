// SPDX-License-Identifier: Apache-2.0
#include "choose/choose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

constexpr char kNpu[] = "dummy.com/npu";

using Ids = std::vector<std::string>;
using Nodes = std::vector<int>;

// An offer of devices "0", "1", ... with these NUMA nodes.
Offer OfferOf(const std::vector<Nodes>& numa_nodes, int replicas = 1, const Ids& sick = {}) {
  Inventory inventory;
  for (size_t i = 0; i < numa_nodes.size(); ++i) {
    Device device;
    device.key = {kNpu, std::to_string(i)};
    device.numa_nodes = numa_nodes[i];
    inventory.devices.push_back(device);
  }
  const Policy policy{replicas == 1 ? Division::kWhole : Division::kReplicas, replicas};
  return Divide(kNpu, {policy}, inventory, kNpu, [&](const Device& device) -> std::optional<Error> {
    for (const std::string& id : sick) {
      if (id == device.key.id) return Error{Reason::kCheckFailed, "injected failure"};
    }
    return std::nullopt;
  });
}

Ids AllOf(const Offer& offer) {
  Ids ids;
  for (const Share& share : offer.shares) ids.push_back(share.id);
  return ids;
}

Ids Chosen(const Offer& offer, const Ids& available, const Ids& must_include, int size,
           Placement placement = Placement::kSpread) {
  return Choose(offer, {available, must_include, size, placement});
}

// An offer of parts "0", "1", ... of these devices.
Offer OfferOfParts(const std::vector<std::string>& parents, int replicas = 1) {
  Inventory inventory;
  for (size_t i = 0; i < parents.size(); ++i) {
    Device device;
    device.key = {kNpu, std::to_string(i)};
    device.parent = parents[i];
    inventory.devices.push_back(device);
  }
  const Policy policy{replicas == 1 ? Division::kWhole : Division::kReplicas, replicas};
  return Divide(kNpu, {policy}, inventory, kNpu, [](const Device&) { return std::nullopt; });
}

TEST(Choose, APartComesFromTheDeviceWithTheFewestLeft) {
  const Offer offer = OfferOfParts({"a", "a", "a", "b", "b", "b", "c", "c", "c"});

  EXPECT_EQ(Chosen(offer, {"0", "1", "2", "3", "4", "6", "7", "8"}, {}, 1), Ids{"3"});
  EXPECT_EQ(Chosen(offer, {"0", "1", "2", "4", "6", "7", "8"}, {}, 1), Ids{"4"});
}

TEST(Choose, SeveralPartsComeFromOneDeviceWhereTheyFit) {
  const Offer offer = OfferOfParts({"a", "b", "a", "b", "b", "c"});

  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 2), (Ids{"0", "2"}));
  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 3), (Ids{"1", "3", "4"}));
  EXPECT_EQ(Chosen(offer, AllOf(offer), {"1"}, 2), (Ids{"1", "3"}));
}

TEST(Choose, SharesOfPartsArePackedOrSpreadOverDevicesToo) {
  const Offer offer = OfferOfParts({"a", "a", "b", "b"}, 2);
  const Ids available = {"0::0", "0::1", "1::0", "1::1", "2::0", "2::1", "3::1"};

  EXPECT_EQ(Chosen(offer, available, {}, 2, Placement::kPack), (Ids{"3::1", "2::0"}));
  EXPECT_EQ(Chosen(offer, available, {}, 2, Placement::kSpread), (Ids{"0::0", "1::0"}));
}

TEST(Choose, WithoutNumaInformationTakesTheFirstInNaturalOrder) {
  const Offer offer = OfferOf(std::vector<Nodes>(12));

  EXPECT_EQ(Chosen(offer, {"11", "10", "9", "2"}, {}, 3), (Ids{"2", "9", "10"}));
}

TEST(Choose, StaysOnOneNodeWhenThatIsEnough) {
  const Offer offer = OfferOf({{0}, {1}, {0}, {1}, {0}, {1}});

  EXPECT_EQ(Chosen(offer, {"0", "1", "3", "5", "2"}, {}, 3), (Ids{"1", "3", "5"}));
}

TEST(Choose, TakesTheNodeWithTheLeastSufficientRoom) {
  const Offer offer = OfferOf({{0}, {0}, {0}, {0}, {1}, {1}, {2}});

  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 1), Ids{"6"});
  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 2), (Ids{"4", "5"}));
  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 3), (Ids{"0", "1", "2"}));
}

TEST(Choose, TakesAsFewNodesAsPossible) {
  const Offer offer = OfferOf({{0}, {0}, {1}, {1}, {1}, {2}, {2}, {2}, {2}});

  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 6), (Ids{"5", "6", "7", "8", "0", "1"}));
  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 7), (Ids{"5", "6", "7", "8", "2", "3", "4"}));
}

TEST(Choose, PutsMustIncludeFirstAndStaysNearIt) {
  const Offer offer = OfferOf({{0}, {1}, {0}, {1}, {0}, {1}});

  EXPECT_EQ(Chosen(offer, AllOf(offer), {"3"}, 3), (Ids{"3", "1", "5"}));
  EXPECT_EQ(Chosen(offer, AllOf(offer), {"3"}, 4), (Ids{"3", "1", "5", "0"}));
}

TEST(Choose, DevicesNearSeveralNodesCountForEach) {
  const Offer offer = OfferOf({{0}, {1}, {0, 1}, {1}});

  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 3), (Ids{"1", "2", "3"}));
  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 2), (Ids{"0", "2"}));
}

TEST(Choose, DevicesWithoutNumaInformationAreAGroupOfTheirOwn) {
  const Offer offer = OfferOf({{0}, {}, {1}, {}});

  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 2), (Ids{"1", "3"}));
  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 1), Ids{"0"});
}

TEST(Choose, SpreadTakesPartsOfTheLeastTakenDevice) {
  const Offer offer = OfferOf({{}, {}, {}}, 3);

  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 4), (Ids{"0::0", "1::0", "2::0", "0::1"}));
  EXPECT_EQ(Chosen(offer, {"0::2", "1::1", "1::2", "2::2"}, {}, 1), Ids{"1::1"});
}

TEST(Choose, SpreadTakesTwoDevicesWhereOneIsTakenInPart) {
  const Offer offer = OfferOf({{}, {}}, 2);
  EXPECT_EQ(Chosen(offer, {"0::0", "0::1", "1::1"}, {}, 2), (Ids{"0::0", "1::1"}));
}

TEST(Choose, SpreadReachesTheOtherNodeToo) {
  const Offer offer = OfferOf({{0}, {1}}, 3);

  EXPECT_EQ(Chosen(offer, {"0::1", "0::2", "1::0", "1::1", "1::2"}, {}, 1), Ids{"1::0"});
}

TEST(Choose, PackTakesPartsOfTheMostTakenDevice) {
  const Offer offer = OfferOf({{}, {}, {}}, 3);

  EXPECT_EQ(
      Chosen(offer, {"0::0", "0::1", "0::2", "1::2", "2::1", "2::2"}, {}, 4, Placement::kPack),
      (Ids{"1::2", "2::1", "2::2", "0::0"}));
}

TEST(Choose, PackStaysWithTheNodeThatIsFullest) {
  const Offer offer = OfferOf({{0}, {1}}, 3);

  EXPECT_EQ(Chosen(offer, {"0::0", "0::1", "0::2", "1::1", "1::2"}, {}, 1, Placement::kPack),
            Ids{"1::1"});
}

TEST(Choose, MustIncludeCountsAsTaken) {
  const Offer offer = OfferOf({{}, {}}, 3);

  EXPECT_EQ(Chosen(offer, AllOf(offer), {"0::0"}, 2), (Ids{"0::0", "1::0"}));
  EXPECT_EQ(Chosen(offer, AllOf(offer), {"0::0"}, 2, Placement::kPack), (Ids{"0::0", "0::1"}));
}

TEST(Choose, TooLittleAvailableGivesAllThereIs) {
  const Offer offer = OfferOf({{0}, {1}, {}});

  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 9), (Ids{"0", "1", "2"}));
  EXPECT_EQ(Chosen(offer, {}, {}, 9), Ids{});
  EXPECT_EQ(Chosen(Offer{}, {"0"}, {}, 1), Ids{});
}

TEST(Choose, ASizeBelowMustIncludeGivesItsFirst) {
  const Offer offer = OfferOf(std::vector<Nodes>(12));

  EXPECT_EQ(Chosen(offer, AllOf(offer), {"10", "9", "2"}, 2), (Ids{"2", "9"}));
  EXPECT_EQ(Chosen(offer, AllOf(offer), {"2"}, 0), Ids{});
  EXPECT_EQ(Chosen(offer, AllOf(offer), {"2"}, -1), Ids{});
}

TEST(Choose, UnknownIdsAreNotProposed) {
  const Offer offer = OfferOf({{0}, {1}});

  EXPECT_EQ(Chosen(offer, {"7", "1", "1", ""}, {}, 2), Ids{"1"});
}

TEST(Choose, MustIncludeIsKeptEvenWhenUnknown) {
  const Offer offer = OfferOf({{0}, {1}});

  EXPECT_EQ(Chosen(offer, {"0", "1"}, {"gone"}, 2), (Ids{"gone", "0"}));
}

TEST(Choose, UnhealthyIdsAreNotProposed) {
  const Offer offer = OfferOf({{0}, {0}, {0}}, 1, {"0"});

  EXPECT_EQ(Chosen(offer, AllOf(offer), {}, 2), (Ids{"1", "2"}));
}

// An offer of `count` devices while these shares are held.
Offer HeldOffer(const Policy& policy, int count, const std::vector<std::string_view>& held) {
  Inventory inventory;
  for (int i = 0; i < count; ++i) {
    Device device;
    device.key = {kNpu, std::to_string(i)};
    device.links = {{std::to_string((i + 2) % 4), 100}};
    inventory.devices.push_back(device);
  }
  return Divide(kNpu, PlanFor(policy, held), inventory, kNpu,
                [](const Device&) { return std::nullopt; });
}

TEST(Choose, WhatIsOfferedForItsHoldersSakeIsNotProposedToAnother) {
  const Offer shared = HeldOffer({Division::kReplicas, 2}, 2, {"0"});
  EXPECT_EQ(Chosen(shared, AllOf(shared), {}, 3), (Ids{"1::0", "1::1"}));
  EXPECT_EQ(Chosen(shared, AllOf(shared), {"0"}, 1), Ids{"0"});

  const Offer whole = HeldOffer({}, 2, {"0::1"});
  EXPECT_EQ(Chosen(whole, AllOf(whole), {}, 2), Ids{"1"});
}

TEST(Choose, WholeDevicesAreTakenByTheirLinksWhileAnotherIsStillHeldInShares) {
  const Offer offer = HeldOffer({}, 4, {"3::0", "3::1", "3::2"});

  EXPECT_EQ(Chosen(offer, {"0", "1", "2"}, {}, 2), (Ids{"0", "2"}));
}

// Four devices on one node; 0 and 2 are linked, as are 1 and 3.
Offer LinkedOffer(const Ids& sick = {}) {
  Inventory inventory;
  for (int i = 0; i < 4; ++i) {
    Device device;
    device.key = {kNpu, std::to_string(i)};
    device.numa_nodes = {0};
    device.links = {{std::to_string((i + 2) % 4), 100}};
    inventory.devices.push_back(device);
  }
  return Divide(kNpu, {}, inventory, kNpu, [&](const Device& device) -> std::optional<Error> {
    if (std::find(sick.begin(), sick.end(), device.key.id) == sick.end()) return std::nullopt;
    return Error{Reason::kCheckFailed, "injected failure"};
  });
}

TEST(Choose, LinkedDevicesAreTakenTogether) {
  EXPECT_EQ(Chosen(LinkedOffer(), {"3", "1", "2", "0"}, {}, 2), (Ids{"0", "2"}));
  EXPECT_EQ(Chosen(LinkedOffer(), {"3", "1", "2", "0"}, {"3"}, 2), (Ids{"3", "1"}));
}

TEST(Choose, ASingleDeviceLeavesLinkedOnesTogether) {
  EXPECT_EQ(Chosen(LinkedOffer(), {"0", "2", "3"}, {}, 1), (Ids{"3"}));
}

TEST(Choose, ALostDeviceOfALinkedPairCostsOnlyItself) {
  EXPECT_EQ(Chosen(LinkedOffer({"2"}), {"0", "1", "2", "3"}, {}, 2), (Ids{"1", "3"}));
  EXPECT_EQ(Chosen(LinkedOffer({"2"}), {"0", "1", "2", "3"}, {}, 3), (Ids{"0", "1", "3"}));
  EXPECT_EQ(Chosen(LinkedOffer({"2"}), {"0", "1", "2", "3"}, {}, 4), (Ids{"0", "1", "3"}));
}

TEST(Choose, AnUnknownIncludedIdDoesNotHinderTheLinks) {
  EXPECT_EQ(Chosen(LinkedOffer(), {"0", "1", "2", "3"}, {"9"}, 3), (Ids{"9", "0", "2"}));
}

}  // namespace
}  // namespace tessera
