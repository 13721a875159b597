// SPDX-License-Identifier: Apache-2.0
#include "device/inventory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

constexpr char kNpu[] = "dummy.com/npu";
constexpr char kTty[] = "serial.io/tty";

using Keys = std::vector<DeviceKey>;

Device MakeDevice(const std::string& source, const std::string& id) {
  Device device;
  device.key = {source, id};
  device.visible_as = id;
  return device;
}

std::vector<Device> Devices(const std::string& source, std::initializer_list<const char*> ids) {
  std::vector<Device> devices;
  for (const char* id : ids) devices.push_back(MakeDevice(source, id));
  return devices;
}

bool Never(const DeviceKey&) {
  return false;
}
bool Always(const DeviceKey&) {
  return true;
}

InventoryPtr Empty() {
  return std::make_shared<Inventory>();
}

InventoryPtr Scanned(std::initializer_list<const char*> ids) {
  return Merge(Empty(), kNpu, Devices(kNpu, ids), Never).inventory;
}

Keys KeysOf(const Inventory& inventory) {
  Keys keys;
  for (const Device& device : inventory.devices) keys.push_back(device.key);
  return keys;
}

TEST(DeviceKeyLess, OrdersBySourceThenIdNaturally) {
  const DeviceKeyLess less;

  EXPECT_TRUE(less({"a.b/c", "10"}, {"a.b/d", "2"}));
  EXPECT_TRUE(less({"a.b/c", "2"}, {"a.b/c", "10"}));
  EXPECT_FALSE(less({"a.b/c", "2"}, {"a.b/c", "2"}));
}

TEST(Inventory, FindsADeviceByItsKey) {
  const InventoryPtr inventory = Scanned({"10", "2", "1"});

  ASSERT_NE(inventory->Find({kNpu, "10"}), nullptr);
  EXPECT_EQ(inventory->Find({kNpu, "10"})->key.id, "10");
  EXPECT_EQ(inventory->Find({kNpu, "3"}), nullptr);
  EXPECT_EQ(inventory->Find({kTty, "10"}), nullptr);
}

TEST(Merge, TheFirstScanBringsAllDevicesInNaturalOrder) {
  const Merged merged = Merge(Empty(), kNpu, Devices(kNpu, {"10", "2", "1"}), Never);

  const Keys keys = {{kNpu, "1"}, {kNpu, "2"}, {kNpu, "10"}};
  EXPECT_EQ(KeysOf(*merged.inventory), keys);
  EXPECT_EQ(merged.inventory->generation, 1U);
}

TEST(Merge, AScanThatFindsTheSameKeepsTheInventory) {
  const InventoryPtr before = Scanned({"0", "1"});

  const Merged merged = Merge(before, kNpu, Devices(kNpu, {"1", "0"}), Never);

  EXPECT_EQ(merged.inventory, before);
}

TEST(Merge, AChangedDeviceMakesANewGeneration) {
  const InventoryPtr before = Scanned({"0", "1"});
  std::vector<Device> scanned = Devices(kNpu, {"0", "1"});
  scanned[1].numa_nodes = {1};

  const Merged merged = Merge(before, kNpu, scanned, Never);

  EXPECT_EQ(merged.inventory->generation, 2U);
  EXPECT_TRUE(std::equal(scanned.begin(), scanned.end(), merged.inventory->devices.begin(),
                         merged.inventory->devices.end()));
}

TEST(Merge, AMissingDeviceInUseStaysAsVanished) {
  const Merged merged = Merge(Scanned({"0", "1"}), kNpu, Devices(kNpu, {"0"}), Always);

  EXPECT_EQ(merged.vanished, (Keys{{kNpu, "1"}}));
  EXPECT_TRUE(merged.removed.empty());
  ASSERT_NE(merged.inventory->Find({kNpu, "1"}), nullptr);
  EXPECT_FALSE(merged.inventory->Find({kNpu, "1"})->present);
}

TEST(Merge, AVanishedDeviceIsToldOnce) {
  const InventoryPtr before =
      Merge(Scanned({"0", "1"}), kNpu, Devices(kNpu, {"0"}), Always).inventory;

  const Merged merged = Merge(before, kNpu, Devices(kNpu, {"0"}), Always);

  EXPECT_EQ(merged.inventory, before);
  EXPECT_TRUE(merged.vanished.empty());
}

TEST(Merge, AVanishedDeviceLeavesOnceNobodyHoldsIt) {
  const InventoryPtr before =
      Merge(Scanned({"0", "1"}), kNpu, Devices(kNpu, {"0"}), Always).inventory;

  const Merged merged = Merge(before, kNpu, Devices(kNpu, {"0"}), Never);

  EXPECT_EQ(merged.removed, (Keys{{kNpu, "1"}}));
  EXPECT_EQ(KeysOf(*merged.inventory), (Keys{{kNpu, "0"}}));
}

TEST(Merge, AVanishedDeviceThatReturnsIsPresentAgain) {
  const InventoryPtr before =
      Merge(Scanned({"0", "1"}), kNpu, Devices(kNpu, {"0"}), Always).inventory;

  const Merged merged = Merge(before, kNpu, Devices(kNpu, {"0", "1"}), Always);

  EXPECT_TRUE(merged.inventory->Find({kNpu, "1"})->present);
}

TEST(Merge, AMissingDeviceNobodyHoldsIsSeenToBeOutBeforeItLeaves) {
  const Merged merged = Merge(Scanned({"0", "1"}), kNpu, Devices(kNpu, {"1"}), Never);

  EXPECT_EQ(merged.vanished, (Keys{{kNpu, "0"}}));
  EXPECT_TRUE(merged.removed.empty());
  EXPECT_EQ(KeysOf(*merged.inventory), (Keys{{kNpu, "0"}, {kNpu, "1"}}));
  EXPECT_EQ(KeysOf(*Merge(merged.inventory, kNpu, Devices(kNpu, {"1"}), Never).inventory),
            (Keys{{kNpu, "1"}}));
}

TEST(Merge, OtherSourcesStayAsTheyAre) {
  const InventoryPtr before =
      Merge(Scanned({"0"}), kTty, Devices(kTty, {"ttyUSB0"}), Never).inventory;

  const Merged merged = Merge(before, kNpu, {}, Never);

  EXPECT_EQ(*merged.inventory->Find({kTty, "ttyUSB0"}), *before->Find({kTty, "ttyUSB0"}));
}

TEST(Merge, TwoDevicesWithOneIdAreOneWithADefect) {
  std::vector<Device> scanned = Devices(kNpu, {"1", "0", "1"});
  scanned[0].model = "first";
  scanned[2].model = "second";

  const Merged merged = Merge(Empty(), kNpu, scanned, Never);

  ASSERT_EQ(merged.inventory->devices.size(), 2U);
  EXPECT_EQ(merged.inventory->devices[0].defect, std::nullopt);
  EXPECT_EQ(merged.inventory->devices[1].model, "first");
  EXPECT_EQ(merged.inventory->devices[1].defect,
            (Error{Reason::kDuplicateDevice, "two devices have this id"}));
}

}  // namespace
}  // namespace tessera
