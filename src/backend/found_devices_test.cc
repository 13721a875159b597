// SPDX-License-Identifier: Apache-2.0
#include "backend/found_devices.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Device Named(const std::string& source, const std::string& id) {
  Device device;
  device.key = {source, id};
  return device;
}

InventoryPtr With(std::initializer_list<Device> devices) {
  return std::make_shared<const Inventory>(Inventory{.devices = devices});
}

std::string Ids(const std::optional<FoundDevices::Found>& found) {
  if (!found) return "not scanned";
  std::string ids;
  for (const Device& device : found->devices) ids += device.key.id + " ";
  return ids;
}

TEST(FoundDevices, AResourceHasItsPresentDevicesOnceItWasScanned) {
  FoundDevices found;
  Device gone = Named("a.com/x", "2");
  gone.present = false;
  Device broken = Named("a.com/x", "3");
  broken.defect = Error{Reason::kUnreadable, "no"};
  const InventoryPtr inventory = With({Named("a.com/x", "1"), gone, broken, Named("b.com/x", "4")});

  found.Put("a.com/x", {.variable = "X", .shares = 2}, inventory);

  EXPECT_EQ(Ids(found.Of("a.com/x")), "1 3 ");
  EXPECT_EQ(found.Of("a.com/x")->terms, (FoundDevices::Terms{.variable = "X", .shares = 2}));
  EXPECT_EQ(Ids(found.Of("b.com/x")), "not scanned");
}

TEST(FoundDevices, AResourceThatItsFamilyDidNotFindHasNoDevice) {
  FoundDevices found;
  int changes = 0;
  const FoundDevices::Handle handle = found.Watch([&] { ++changes; });
  found.Expect("a.com/m-3");

  FoundDevices::Family family{
      .resource = {},
      .members = std::set<std::string>{"a.com/m-1"},
      .may_have = [](const std::string& name) { return name.starts_with("a.com/m-"); }};
  found.SetFamilies({family});
  found.SetFamilies({family});

  EXPECT_EQ(changes, 1);
  EXPECT_EQ(Ids(found.Of("a.com/m-1")), "not scanned");
  EXPECT_EQ(Ids(found.Of("a.com/m-2")), "");
  EXPECT_EQ(Ids(found.Of("a.com/m-3")), "not scanned");
  EXPECT_EQ(Ids(found.Of("a.com/x")), "not scanned");

  // Another family may have it.
  const FoundDevices::Family late{.resource = {}, .may_have = [](auto&) { return true; }};
  found.SetFamilies({family, late});
  EXPECT_EQ(Ids(found.Of("a.com/m-2")), "not scanned");
}

TEST(FoundDevices, AFamilyThatIsConfiguredAnewMayHaveOtherResources) {
  FoundDevices found;
  FoundDevices::Family family{.resource = {},
                              .members = std::set<std::string>{"a.com/m-1"},
                              .may_have = [](auto&) { return false; }};
  found.SetFamilies({family});
  EXPECT_EQ(Ids(found.Of("a.com/m-2")), "not scanned");

  family.resource.cdi_dir = "/another";
  family.may_have = [](auto&) { return true; };
  found.SetFamilies({family});

  EXPECT_EQ(Ids(found.Of("a.com/m-2")), "");
}

TEST(FoundDevices, WatchersHearOfChangesUntilTheyLetGo) {
  FoundDevices found;
  int changes = 0;
  FoundDevices::Handle handle = found.Watch([&] { ++changes; });
  const InventoryPtr inventory = With({Named("a.com/x", "1")});

  found.Put("a.com/x", {}, inventory);
  found.Put("a.com/x", {}, inventory);
  EXPECT_EQ(changes, 1);
  found.Put("a.com/x", {.shares = 2}, inventory);
  EXPECT_EQ(changes, 2);
  const auto described = [&](const std::string& env) {
    const cdi::Parts parts{.common = {.env = {env}}};
    found.Put("a.com/x", {.shares = 2, .cdi = std::make_shared<const cdi::Parts>(parts)},
              inventory);
  };
  described("A=1");
  described("A=1");
  EXPECT_EQ(changes, 3);
  described("A=2");
  EXPECT_EQ(changes, 4);
  found.Drop("a.com/x");
  found.Drop("a.com/x");
  EXPECT_EQ(changes, 5);
  EXPECT_EQ(Ids(found.Of("a.com/x")), "not scanned");

  handle.reset();
  found.Put("a.com/x", {}, inventory);
  EXPECT_EQ(changes, 5);
}

}  // namespace
}  // namespace tessera
