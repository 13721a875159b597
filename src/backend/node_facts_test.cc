// SPDX-License-Identifier: Apache-2.0
#include "backend/node_facts.h"

#include <gtest/gtest.h>

#include <memory>

#include "backend/fixture_kind_test.h"
#include "grant/grant.h"

namespace tessera {
namespace {

constexpr char kCard[] = "fixture.com/card";
constexpr char kNic[] = "fixture.com/nic";

const DeviceNode kControl{"/dev/ctl", "/dev/ctl", "rw"};
const DeviceNode kExtra{"/dev/extra", "/dev/extra", "rw"};

DeviceNode Own(const std::string& name) {
  return {"/dev/" + name, "/dev/" + name, "rw"};
}
FixtureCard With(const std::string& id) {
  return {.id = id, .nodes = {{Own(id)}, {kControl}, {kExtra, true}}};
}

// Cards with a node each, one that all have in common, and one that may be missing.
class NodesTest : public testing::Test {
 protected:
  NodesTest() {
    for (const std::string name : {"a", "b", "nic", "ctl"}) tree_.Write("/dev/" + name);
    cards_.cards = {With("a"), With("b")};
    nics_.cards = {With("nic")};
  }
  // What a container gets for all devices of a scan.
  static std::vector<DeviceNode> Granted(FixtureBackend& backend, const std::string& resource,
                                         const std::vector<std::string>& ids) {
    const InventoryPtr inventory =
        Merge(std::make_shared<Inventory>(), resource, backend.Scan().value(),
              [](const DeviceKey&) { return false; })
            .inventory;
    const Offer offer = Divide(resource, {}, *inventory, resource,
                               [](const Device&) -> std::optional<Error> { return std::nullopt; });
    return Allocate(offer, {{Strategy::kDeviceSpecs}, "", ""}, ids).value().devices;
  }

  const FixtureTree tree_;
  FixtureBackend cards_{kCard, tree_.root()};
  FixtureBackend nics_{kNic, tree_.root()};
};

TEST_F(NodesTest, WhatSeveralDevicesShareIsInAContainerOnce) {
  EXPECT_EQ(Granted(cards_, kCard, {"a", "b"}),
            (std::vector<DeviceNode>{Own("a"), kControl, Own("b")}));
}

// kubelet joins the answers for a container's resources, and takes equal nodes once.
TEST_F(NodesTest, WhatDevicesOfSeveralResourcesShareIsTheSameNode) {
  EXPECT_EQ(Granted(cards_, kCard, {"a"})[1], Granted(nics_, kNic, {"nic"})[1]);
}

TEST_F(NodesTest, AnOptionalOneIsInTheGrantsFromTheScanThatFindsIt) {
  EXPECT_EQ(Granted(cards_, kCard, {"a"}), (std::vector<DeviceNode>{Own("a"), kControl}));
  tree_.Write("/dev/extra");

  EXPECT_EQ(Granted(cards_, kCard, {"a"}), (std::vector<DeviceNode>{Own("a"), kControl, kExtra}));
}

TEST_F(NodesTest, AnotherThatIsMissingIsADefect) {
  ASSERT_TRUE(os::RemoveFile(tree_.root().Path("/dev/ctl")));

  EXPECT_EQ(cards_.Scan().value()[0].defect,
            (Error{Reason::kUnreadable,
                   "/dev/ctl is not there: see whether the device's driver is "
                   "loaded"}));
}

}  // namespace
}  // namespace tessera
