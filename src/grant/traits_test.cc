// SPDX-License-Identifier: Apache-2.0
// The effect of devices' traits on grants.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "grant/grant.h"

namespace tessera {
namespace {

constexpr char kCard[] = "fixture.com/card";

using Ids = std::vector<std::string>;
using Envs = std::map<std::string, std::string>;

Device Card(const std::string& id, DeviceTraits traits = {}) {
  Device device;
  device.key = {kCard, id};
  device.visible_as = "card" + id;
  device.traits = std::move(traits);
  return device;
}

Offer TraitsOffer(std::vector<Device> devices, const Policy& policy = {}) {
  const InventoryPtr inventory =
      Merge(std::make_shared<Inventory>(), kCard, std::move(devices), [](const DeviceKey&) {
        return false;
      }).inventory;
  return Divide(kCard, {policy}, *inventory, kCard,
                [](const Device&) -> std::optional<Error> { return std::nullopt; });
}

Rendering OnlyResource(Strategy strategy) {
  return {{strategy}, "CARD_VISIBLE", "fixture.com/card"};
}

Device Nic(const std::string& id, const std::string& address, const std::string& mode) {
  return Card(id, {.variables = {{"NIC_ADDRESSES", address}, {"NIC_MODES", mode}}});
}

TEST(Variables, HaveTheValuesOfAllDevicesInTheirOrder) {
  std::vector<Device> devices = {Nic("1", "0000:41:00.0", ""), Nic("2", "0000:42:00.0", "b"),
                                 Nic("3", "0000:43:00.0", "")};
  devices[0].order = 7;

  EXPECT_EQ(
      Allocate(TraitsOffer(devices), OnlyResource(Strategy::kEnvvar), Ids{"1", "3", "2"})->envs,
      (Envs{{"CARD_VISIBLE", "card2,card3,card1"},
            {"NIC_ADDRESSES", "0000:42:00.0,0000:43:00.0,0000:41:00.0"},
            {"NIC_MODES", "b,,"}}));
}

TEST(Variables, OfJsonObjectsHaveTheMembersOfAll) {
  const auto card = [](const std::string& id, const std::string& info) {
    return Card(id, {.variables = {{"CARD_INFO", info}}});
  };
  const Offer offer = TraitsOffer(
      {card("1", R"({"a":{"b":1}})"), card("2", R"({"c":[]})"), card("3", R"({"d":"}"})")});

  EXPECT_EQ(Allocate(offer, OnlyResource(Strategy::kEnvvar), Ids{"1", "2", "3"})->envs["CARD_INFO"],
            R"({"a":{"b":1},"c":[],"d":"}"})");
}

TEST(Variables, DoNotTakeThePlaceOfTheOneThatNamesTheDevices) {
  const Offer offer = TraitsOffer({Card("1", {.variables = {{"CARD_VISIBLE", "all"}}})});

  EXPECT_EQ(Allocate(offer, OnlyResource(Strategy::kEnvvar), Ids{"1"})->envs,
            (Envs{{"CARD_VISIBLE", "card1"}}));
}

TEST(Variables, AreOfOneDeviceEachInACdiDocument) {
  const Offer offer = TraitsOffer({Nic("a1", "0000:41:00.0", "x"), Nic("a2", "0000:42:00.0", "y")});

  const cdi::Document document = CdiDocument(offer, OnlyResource(Strategy::kCdiCri));

  EXPECT_EQ(document.devices[1].edits.env,
            (std::vector<std::string>{"CARD_VISIBLE_A2=carda2", "NIC_ADDRESSES_A2=0000:42:00.0",
                                      "NIC_MODES_A2=y"}));
  EXPECT_EQ(Allocate(offer, OnlyResource(Strategy::kCdiCri), Ids{"a1", "a2"})->envs, Envs());
}

Device WithNodes(const std::string& id, std::vector<DeviceNode> nodes) {
  Device device = Card(id);
  device.nodes = std::move(nodes);
  return device;
}

TEST(SharedNodes, AreOneInTheContainerWithWhatAnyDeviceMayDoWithThem) {
  const Offer offer = TraitsOffer({WithNodes("1", {{"/dev/ctl", "/dev/ctl", "r"}}),
                                   WithNodes("2", {{"/dev/ctl", "/dev/ctl", "rw"}}),
                                   WithNodes("3", {{"/dev/ctl", "/dev/ctl", "m"}})});

  EXPECT_EQ(Allocate(offer, OnlyResource(Strategy::kDeviceSpecs), Ids{"1", "2", "3"})->devices,
            (std::vector<DeviceNode>{{"/dev/ctl", "/dev/ctl", "rwm"}}));
  EXPECT_EQ(Allocate(offer, OnlyResource(Strategy::kDeviceSpecs), Ids{"1"})->devices,
            (std::vector<DeviceNode>{{"/dev/ctl", "/dev/ctl", "r"}}));
}

TEST(Exclusion, DevicesThatTakeTheSameHardwareAreNotGrantedTogether) {
  const Offer offer =
      TraitsOffer({Card("0", {.takes = {"slice 0", "slice 1"}}),
                   Card("0-a", {.takes = {"slice 0"}}), Card("0-b", {.takes = {"slice 1"}})});
  const Rendering rendering = OnlyResource(Strategy::kEnvvar);

  EXPECT_EQ(Allocate(offer, rendering, Ids{"0", "0-b"}).error(),
            (Error{Reason::kExcluded,
                   "fixture.com/card: devices 0 and 0-b cannot be granted together: each needs "
                   "slice 1 for itself"}));
  EXPECT_TRUE(Allocate(offer, rendering, Ids{"0-a", "0-b"}));
}

TEST(Bundles, AreGrantedWholeOrNotAtAll) {
  const Offer offer =
      TraitsOffer({Card("0", {.bundle = "board"}), Card("1", {.bundle = "board"}), Card("2")});
  const Rendering rendering = OnlyResource(Strategy::kEnvvar);

  EXPECT_EQ(Allocate(offer, rendering, Ids{"1", "2"}).error(),
            (Error{Reason::kIncompleteBundle,
                   "fixture.com/card: device 1 goes together with "
                   "device 0, which is not requested with it"}));
  EXPECT_TRUE(Allocate(offer, rendering, Ids{"0", "1", "2"}));
  EXPECT_TRUE(Allocate(offer, rendering, Ids{"2"}));
}

}  // namespace
}  // namespace tessera
