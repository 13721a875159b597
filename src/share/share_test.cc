// SPDX-License-Identifier: Apache-2.0
#include "share/share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tessera {
namespace {

constexpr char kNpu[] = "dummy.com/npu";

Device MakeDevice(const std::string& id) {
  Device device;
  device.key = {kNpu, id};
  device.visible_as = id;
  return device;
}

Inventory InventoryOf(const std::vector<std::string>& ids) {
  std::vector<Device> devices;
  for (const std::string& id : ids) devices.push_back(MakeDevice(id));
  return *Merge(std::make_shared<Inventory>(), kNpu, devices, [](const DeviceKey&) {
            return false;
          }).inventory;
}

std::optional<Error> NoTrouble(const Device&) {
  return std::nullopt;
}

std::vector<std::string> IdsOf(const Offer& offer) {
  std::vector<std::string> ids;
  for (const Share& share : offer.shares) ids.push_back(share.id);
  return ids;
}

std::vector<std::string> Divided(const Policy& policy, const std::vector<std::string>& ids) {
  return IdsOf(Divide(kNpu, {policy}, InventoryOf(ids), kNpu, NoTrouble));
}

using Ids = std::vector<std::string>;

TEST(Divide, AWholeDeviceIsOneShareWithItsId) {
  EXPECT_EQ(Divided({}, {"10", "2", "0000:19:00.0"}), (Ids{"0000:19:00.0", "2", "10"}));
}

TEST(Divide, ReplicasAreNumberedDeviceByDevice) {
  EXPECT_EQ(Divided({Division::kReplicas, 2}, {"10", "9"}),
            (Ids{"9::0", "9::1", "10::0", "10::1"}));
}

constexpr char kGpu[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-012345678901";

TEST(Divide, ADashPartsReplicasOfDevicesWithAUuid) {
  const std::string gpu = kGpu;
  const Policy policy{Division::kReplicas, 2, Separator::kDash};
  EXPECT_EQ(Divided(policy, {gpu}), (Ids{gpu + "-0", gpu + "-1"}));
  EXPECT_EQ(Divided(policy, {"MIG-" + gpu + "/1/0"}),
            (Ids{"MIG-" + gpu + "/1/0-0", "MIG-" + gpu + "/1/0-1"}));
  EXPECT_EQ(Divided(policy, {"npu-7"}), (Ids{"npu-7::0", "npu-7::1"}));
}

TEST(Divide, AnIdThatEndsLikeAReplicaIsNone) {
  const std::string gpu = kGpu;
  EXPECT_EQ(Divided({}, {gpu, gpu + "-5", gpu + "-123456", "npu-5"}),
            (Ids{gpu, gpu + "%2D5", gpu + "-123456", "npu-5"}));
  EXPECT_EQ(DeviceOfShare(gpu + "%2D5"), gpu + "-5");
  EXPECT_EQ(DeviceOfShare(gpu + "%2D5-1"), gpu + "-5");
}

TEST(Divide, OtherSourcesAreLeftOut) {
  Inventory inventory = InventoryOf({"1"});
  Device other = MakeDevice("1");
  other.key.source = "other.com/npu";
  inventory.devices.push_back(other);

  const Offer offer = Divide("other.com/npu", {}, inventory, "other.com/npu", NoTrouble);

  EXPECT_EQ(offer.resource, "other.com/npu");
  EXPECT_EQ(offer.devices, DeviceList{other});
}

TEST(Divide, TroubleMakesAllSharesOfADeviceUnhealthyAndSaysWhy) {
  const Error sick{Reason::kCheckFailed, "injected failure"};
  const auto trouble = [&](const Device& device) -> std::optional<Error> {
    if (device.key.id == "1") return sick;
    return std::nullopt;
  };

  const Offer offer =
      Divide(kNpu, {{Division::kReplicas, 2}}, InventoryOf({"0", "1"}), kNpu, trouble);

  EXPECT_EQ(offer.shares, ShareList({{"0::0", 0}, {"0::1", 0}, {"1::0", 1}, {"1::1", 1}}));
  EXPECT_EQ(offer.troubles, (std::unordered_map<uint32_t, Error>{{1, sick}}));
}

TEST(Divide, ADeviceWithADefectIsNeverHealthy) {
  Device broken = MakeDevice("1");
  broken.defect = Error{Reason::kUnreadable, "/dev/npu1: permission denied"};

  const Offer offer = Divide(kNpu, {}, {1, {broken}}, kNpu, NoTrouble);

  EXPECT_FALSE(offer.IsHealthy(0));
  EXPECT_EQ(offer.troubles.at(0), *broken.defect);
}

TEST(Divide, AVanishedDeviceIsNeverHealthy) {
  Device gone = MakeDevice("1");
  gone.present = false;

  const Offer offer = Divide(kNpu, {}, {1, {gone}}, kNpu, NoTrouble);

  EXPECT_FALSE(offer.IsHealthy(0));
  EXPECT_EQ(offer.troubles.at(0),
            (Error{Reason::kVanished, "it disappeared while it may be in use"}));
}

TEST(Offer, FindsAShareByItsId) {
  const Offer offer =
      Divide(kNpu, {{Division::kReplicas, 3}}, InventoryOf({"0", "1"}), kNpu, NoTrouble);

  EXPECT_EQ(offer.shares.PositionOf("1::2"), 5U);
  EXPECT_EQ(offer.shares[5], (Share{"1::2", 1}));
  EXPECT_EQ(offer.shares.PositionOf("1::3"), std::nullopt);
  EXPECT_EQ(offer.shares.PositionOf("1"), std::nullopt);
}

TEST(Offer, SharesItsIdsWithTheOfferBefore) {
  const Inventory inventory = InventoryOf({"0", "1"});
  const auto sick = [](const Device& device) -> std::optional<Error> {
    if (device.key.id == "1") return Error{Reason::kCheckFailed, "injected failure"};
    return std::nullopt;
  };
  const Offer former = Divide(kNpu, {{Division::kReplicas, 2}}, inventory, kNpu, sick);

  const Offer next = Divide(kNpu, {{Division::kReplicas, 2}}, inventory, kNpu, NoTrouble, &former);

  EXPECT_TRUE(next.shares.IsCopyOf(former.shares));
  EXPECT_EQ(former.HealthyShares(), 2U);
  EXPECT_EQ(next.HealthyShares(), 4U);
}

TEST(Offer, TakesNothingFromAnOfferOfOtherIds) {
  const Offer former = Divide(kNpu, {}, InventoryOf({"0", "1"}), kNpu, NoTrouble);

  EXPECT_EQ(IdsOf(Divide(kNpu, {}, InventoryOf({"0", "2"}), kNpu, NoTrouble, &former)),
            (Ids{"0", "2"}));
  EXPECT_EQ(IdsOf(Divide(kNpu, {{Division::kReplicas, 1}}, InventoryOf({"0", "1"}), kNpu, NoTrouble,
                         &former)),
            (Ids{"0::0", "1::0"}));
}

const Policy kFour{Division::kReplicas, 4};

// The ids of devices 0 and 1 while these shares are held.
Ids DividedWhileHeld(const Policy& policy, const std::vector<std::string_view>& held) {
  return IdsOf(Divide(kNpu, PlanFor(policy, held), InventoryOf({"0", "1"}), kNpu, NoTrouble));
}

TEST(PlanFor, WhatNobodyHoldsIsDividedByThePolicy) {
  EXPECT_EQ(PlanFor(kFour, {}), Plan{kFour});
  EXPECT_EQ(DividedWhileHeld(kFour, {}),
            (Ids{"0::0", "0::1", "0::2", "0::3", "1::0", "1::1", "1::2", "1::3"}));
}

TEST(PlanFor, ADeviceThatIsHeldWholeStaysWhole) {
  EXPECT_EQ(DividedWhileHeld(kFour, {"0"}), (Ids{"0", "1::0", "1::1", "1::2", "1::3"}));
}

TEST(PlanFor, ADeviceOfWhichAReplicaIsHeldIsNotOfferedWhole) {
  EXPECT_EQ(DividedWhileHeld({}, {"0::1"}), (Ids{"0::1", "1"}));
  EXPECT_EQ(DividedWhileHeld({}, {"0::10", "0::2", "1::0"}), (Ids{"0::2", "0::10", "1::0"}));
}

TEST(PlanFor, SharesThatThePolicyMakesTooHoldNothingUp) {
  EXPECT_EQ(DividedWhileHeld({Division::kReplicas, 2}, {"0::1", "1::0"}),
            (Ids{"0::0", "0::1", "1::0", "1::1"}));
}

TEST(PlanFor, OneShareThatThePolicyDoesNotMakeKeepsTheOthersThatAreHeld) {
  EXPECT_EQ(DividedWhileHeld({Division::kReplicas, 2}, {"0::1", "0::2", "1::1"}),
            (Ids{"0::1", "0::2", "1::0", "1::1"}));
}

TEST(PlanFor, AnotherSeparatorMakesOtherShares) {
  const Policy dashed{Division::kReplicas, 2, Separator::kDash};
  const std::string gpu = kGpu;
  const std::string held = gpu + "::1";
  const std::vector<std::string_view> ids = {held, "npu-7::1"};

  EXPECT_EQ(PlanFor(dashed, ids), (Plan{dashed, {{gpu, {held}}}}));
}

TEST(PlanFor, TellsItsOwnSharesFromAllOthers) {
  const Policy policies[] = {{},
                             {Division::kReplicas, 2},
                             {Division::kReplicas, 12},
                             {Division::kReplicas, 2, Separator::kDash},
                             {Division::kReplicas, 12, Separator::kDash}};
  const Ids devices = {"0", "npu-7", "a::1", "50%", kGpu, std::string(kGpu) + "-5"};
  for (const Policy& made : policies) {
    for (const std::string& id : Divided(made, devices)) {
      for (const Policy& policy : policies) {
        const Ids own = Divided(policy, devices);
        const std::string_view held[] = {id};
        EXPECT_EQ(PlanFor(policy, held).kept.empty(), std::ranges::count(own, id) == 1)
            << id << " and " << PolicyText(policy);
      }
    }
  }
  const std::string_view never[] = {"0::", "0::01", "0::-1", "0::1x", "0::99999999999"};
  for (const std::string_view& id : never) {
    EXPECT_FALSE(PlanFor(policies[2], {&id, 1}).kept.empty()) << id;
  }
}

TEST(Divide, WhatIsKeptOfADeviceThatIsNotThereIsNoShare) {
  EXPECT_EQ(DividedWhileHeld(kFour, {"2"}), DividedWhileHeld(kFour, {}));
}

TEST(Offer, KnowsWhichDevicesAreKept) {
  const std::vector<std::string_view> held = {"0", "2"};
  const Offer offer = Divide(kNpu, PlanFor(kFour, held), InventoryOf({"0", "1"}), kNpu, NoTrouble);

  EXPECT_TRUE(offer.IsKept(0));
  EXPECT_FALSE(offer.IsKept(1));
  EXPECT_EQ(offer.KeptDevices(), 1U);
}

TEST(Offer, TakesNothingFromAnOfferOfOtherHolders) {
  const Inventory inventory = InventoryOf({"0", "1"});
  const std::vector<std::string_view> held = {"0"};
  const Offer former =
      Divide(kNpu, PlanFor({Division::kReplicas, 2}, held), inventory, kNpu, NoTrouble);

  EXPECT_EQ(IdsOf(Divide(kNpu, {{Division::kReplicas, 2}}, inventory, kNpu, NoTrouble, &former)),
            (Ids{"0::0", "0::1", "1::0", "1::1"}));
}

TEST(WithoutOthers, LeavesWhatBothOffersHave) {
  const Inventory inventory = InventoryOf({"0", "1"});
  const Offer four = Divide(kNpu, {kFour}, inventory, kNpu, NoTrouble);
  const std::vector<std::string_view> held = {"0::3"};
  const Offer next =
      Divide(kNpu, PlanFor({Division::kReplicas, 2}, held), inventory, kNpu, NoTrouble);

  const auto rest = WithoutOthers(four, next);

  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->shares, ShareList({{"0::3", 0}, {"1::0", 1}, {"1::1", 1}}));
  EXPECT_EQ(rest->devices, four.devices);
  EXPECT_FALSE(WithoutOthers(*rest, next));
}

TEST(WithoutOthers, IsNothingWhenNoShareGoes) {
  const Inventory inventory = InventoryOf({"0", "1"});
  const Offer two = Divide(kNpu, {{Division::kReplicas, 2}}, inventory, kNpu, NoTrouble);

  EXPECT_FALSE(WithoutOthers(two, two));
  EXPECT_FALSE(WithoutOthers(two, Divide(kNpu, {kFour}, inventory, kNpu, NoTrouble)));
  EXPECT_FALSE(WithoutOthers(Offer(), two));
}

TEST(PolicyText, SaysHowDevicesAreDivided) {
  EXPECT_EQ(PolicyText({}), "whole");
  EXPECT_EQ(PolicyText(kFour), "4 replicas");
  EXPECT_EQ(PolicyText({Division::kReplicas, 2, Separator::kDash}), "2 replicas (dash)");
  EXPECT_EQ(PolicyText({Division::kMps, 8}), "8 by MPS");
  EXPECT_EQ(PolicyText({Division::kVgpu, 10, Separator::kDash}), "10 vGPUs (dash)");
}

TEST(PlanFor, ByMpsDevicesHaveTheSharesThatReplicasHave) {
  const std::string_view held[] = {"7::3"};
  EXPECT_TRUE(PlanFor({Division::kMps, 4}, held).kept.empty());
  EXPECT_FALSE(PlanFor({Division::kMps, 3}, held).kept.empty());
  EXPECT_FALSE(PlanFor({}, held).kept.empty());
}

TEST(ReplicaOfShare, IsItsNumber) {
  EXPECT_EQ(ReplicaOfShare("7::2"), 2);
  EXPECT_EQ(ReplicaOfShare(std::string(kGpu) + "-12"), 12);
  EXPECT_EQ(ReplicaOfShare("7"), std::nullopt);
  EXPECT_EQ(ReplicaOfShare(kGpu), std::nullopt);
  EXPECT_EQ(ReplicaOfShare("7::"), std::nullopt);
  EXPECT_EQ(ReplicaOfShare("7::x"), std::nullopt);
}

TEST(DeviceOfShare, UndoesTheDivision) {
  struct Row {
    std::string share;
    std::string device;
  };
  const Row rows[] = {{"7", "7"},
                      {"7::2", "7"},
                      {"0000:19:00.0", "0000:19:00.0"},
                      {"0000:19:00.0::1", "0000:19:00.0"},
                      {"", ""},
                      {"a:%3A1", "a::1"},
                      {"a:%3A1::5", "a::1"},
                      {"50%25", "50%"},
                      {"5%", "5%"},
                      {"npu-5", "npu-5"},
                      {"unreadable-3", "unreadable-3"},
                      {kGpu, kGpu},
                      {std::string(kGpu) + "-0", kGpu},
                      {std::string(kGpu) + "-9999", kGpu},
                      {std::string(kGpu) + "-99999", kGpu},
                      {std::string(kGpu) + "::3", kGpu},
                      {std::string(kGpu) + "-", std::string(kGpu) + "-"}};

  for (const Row& row : rows) EXPECT_EQ(DeviceOfShare(row.share), row.device) << row.share;
}

TEST(ShareIds, LeadBackWhereAnEscapeCompletesAUuid) {
  const std::string rest = "1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
  EXPECT_EQ(Divided({}, {"%" + rest + "-7"}), (Ids{"%25" + rest + "%2D7"}));
  EXPECT_EQ(DeviceOfShare("%25" + rest + "%2D7"), "%" + rest + "-7");
  EXPECT_EQ(Divided({}, {"::" + rest + "-7"}), (Ids{":%3A" + rest + "%2D7"}));
}

TEST(ShareIds, AreUniqueAndLeadBackForAnyDeviceIds) {
  std::mt19937 random(11);
  std::set<std::string> names;
  while (names.size() < 400) {
    std::string name;
    for (auto n = 1 + random() % 6; n > 0; --n) name += std::string(":::%3A25a0-")[random() % 11];
    names.insert(random() % 2 == 0 ? name : kGpu + name);
  }
  const Inventory inventory = InventoryOf({names.begin(), names.end()});
  std::set<std::string> ids;

  for (const Policy& policy : {Policy{}, Policy{Division::kReplicas, 3},
                               Policy{Division::kReplicas, 3, Separator::kDash}}) {
    const Offer offer = Divide(kNpu, {policy}, inventory, kNpu, NoTrouble);
    for (const Share& share : offer.shares) {
      // Devices without a UUID have the same ids under both separators.
      const bool again =
          policy.separator == Separator::kDash && share.id.find("::") != Ids::value_type::npos;
      EXPECT_TRUE(ids.insert(share.id).second || again) << share.id;
      EXPECT_EQ(DeviceOfShare(share.id), offer.devices[share.device].key.id) << share.id;
      EXPECT_EQ(offer.shares.Find(share.id), &share);
    }
  }
}

TEST(ShareIds, StayWhenOtherDevicesComeAndGo) {
  std::mt19937 random(5);
  for (const Policy& policy : {Policy{}, Policy{Division::kReplicas, 2}}) {
    for (int round = 0; round < 50; ++round) {
      std::vector<std::string> present = {"stays"};
      for (int i = 0; i < 20; ++i) {
        if (random() % 2 == 0) present.push_back(std::to_string(i));
      }
      const Ids ids = Divided(policy, present);
      const Ids expected =
          policy.division == Division::kWhole ? Ids{"stays"} : Ids{"stays::0", "stays::1"};
      EXPECT_EQ(Ids(ids.end() - static_cast<std::ptrdiff_t>(expected.size()), ids.end()), expected);
    }
  }
}

TEST(Divide, SixtyThousandSharesAreAllThere) {
  std::vector<std::string> names;
  for (int i = 0; i < 1'000; ++i) names.push_back(std::to_string(i));

  const Offer offer =
      Divide(kNpu, {{Division::kReplicas, 60}}, InventoryOf(names), kNpu, NoTrouble);

  EXPECT_EQ(offer.shares.size(), 60'000U);
  for (uint32_t i = 0; i < offer.shares.size(); ++i) {
    ASSERT_EQ(offer.shares.PositionOf(offer.shares[i].id), i);
  }
}

}  // namespace
}  // namespace tessera
