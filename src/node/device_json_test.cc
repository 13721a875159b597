// SPDX-License-Identifier: Apache-2.0
#include "node/device_json.h"

#include <gtest/gtest.h>

#include "node/state.h"

namespace tessera {
namespace {

TEST(DeviceJson, ADeviceWithoutTraitsHasNothingOfThem) {
  EXPECT_EQ(TraitsJson({}), json::Object());
  EXPECT_EQ(ReadTraits({}), DeviceTraits());
}

TEST(DeviceJson, TraitsReadBackAsTheyWere) {
  const DeviceTraits traits{.pci_path = "pci0000:40/0000:40:01.0/0000:47:00.0",
                            .iommu_group = 57,
                            .variables = {{"CARD_BUS", "0000:47:00.0"}},
                            .capacities = {{"bandwidth", 400}, {"cores", 24}},
                            .shares_memory = true,
                            .shares = 2,
                            .takes = {"card/0", "card/1"},
                            .bundle = "board 3",
                            .parts = {{"a.com/gpu", "7"}}};

  EXPECT_EQ(
      json::Write(TraitsJson(traits)),
      R"({"pciPath":"pci0000:40/0000:40:01.0/0000:47:00.0","iommuGroup":57,)"
      R"("variables":{"CARD_BUS":"0000:47:00.0"},)"
      R"("capacities":{"bandwidth":400,"cores":24},"sharesMemory":true,"shares":2,"takes":["card/0","card/1"],)"
      R"("bundle":"board 3","parts":[{"source":"a.com/gpu","id":"7"}]})");
  EXPECT_EQ(ReadTraits(TraitsJson(traits)), traits);
}

TEST(DeviceJson, LinksNameTheSourceOfOthersDevices) {
  EXPECT_EQ(json::Write(LinksJson({{"1", 40}, {"0", 50, "fixture.com/nic"}})),
            R"([{"id":"1","points":40},{"source":"fixture.com/nic","id":"0","points":50}])");
}

TEST(DeviceJson, TheStateFileKeepsTraits) {
  Device device;
  device.key = {"fixture.com/card", "a"};
  device.visible_as = "a";
  device.traits = DeviceTraits{.pci_path = "pci0000:40/0000:47:00.0"};

  EXPECT_EQ(ParseFacts(WriteFacts({device}, {}, {}))->devices, DeviceList{device});
}

}  // namespace
}  // namespace tessera
