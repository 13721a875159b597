// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/device_manager.h"

#include <gtest/gtest.h>

namespace tessera::kubelet::embedded {
namespace {

constexpr char kNpu[] = "dummy.com/npu";
const Claim kClaim{"uid", "app", kNpu};
const Steady kNow{Duration(1'000'000)};
const Duration kGrace{300'000};

class NoEndpoint : public Endpoint {
 public:
  Result<std::vector<std::string>> Prefer(std::span<const std::string>,
                                          std::span<const std::string>, int) override {
    return std::vector<std::string>{};
  }
  Result<std::vector<std::string>> Allocate(std::span<const std::string>) override {
    return std::vector<std::string>{};
  }
  Status PreStart(std::span<const std::string>) override { return {}; }
};

class Accounting : public testing::Test {
 protected:
  DeviceManager Make(ConnectionRules rules = ConnectionRules::kUpTo136) {
    return {rules, kGrace, 1};
  }
  static DeviceManager::Plugin At(const std::string& path) {
    return {std::make_shared<NoEndpoint>(), path, PluginOptions{}, {}};
  }
  static DeviceManager WithDevices(std::vector<ListedDevice> listed) {
    DeviceManager devices(ConnectionRules::kUpTo136, kGrace, 1);
    EXPECT_TRUE(devices.Attach(kNpu, At("/a.sock")));
    devices.SetDevices(kNpu, std::move(listed));
    return devices;
  }
  // As admission does, with no preference.
  static Result<Ids> Take(DeviceManager& devices, const Claim& claim, int count,
                          const Ids& reusable = {}) {
    auto selection = TRY(devices.Begin(claim, count, reusable));
    if (selection.needed > 0) TRY(devices.Complete(claim, count, selection, {}));
    devices.Keep(claim, selection.chosen, "response");
    return selection.chosen;
  }
  static std::string ErrorOf(DeviceManager& devices, const Claim& claim, int count) {
    auto selection = devices.Begin(claim, count, {});
    return selection ? "" : selection.error().message;
  }
};

TEST_F(Accounting, AnUnknownResourceIsUnregistered) {
  DeviceManager devices = Make();
  EXPECT_FALSE(devices.Handles(kNpu));
  EXPECT_EQ(devices.AllocatableCount(kNpu), std::nullopt);
  EXPECT_EQ(ErrorOf(devices, kClaim, 1), "cannot allocate unregistered device dummy.com/npu");
}

TEST_F(Accounting, UnhealthyDevicesAreNotAllocated) {
  DeviceManager devices = WithDevices({{"0", false, {}}});
  EXPECT_EQ(ErrorOf(devices, kClaim, 1),
            "no healthy devices present; cannot allocate unhealthy devices dummy.com/npu");
  // Not even none of them.
  EXPECT_EQ(ErrorOf(devices, kClaim, 0),
            "no healthy devices present; cannot allocate unhealthy devices dummy.com/npu");
}

TEST_F(Accounting, AHeldDeviceThatFellIllIsNamedBeforeTheRest) {
  DeviceManager devices = WithDevices({{"0", true, {}}});
  ASSERT_TRUE(Take(devices, kClaim, 1));
  devices.SetDevices(kNpu, {{"0", false, {}}, {"1", true, {}}});
  EXPECT_EQ(ErrorOf(devices, kClaim, 1),
            "previously allocated devices are no longer healthy; cannot allocate unhealthy devices "
            "dummy.com/npu");
}

TEST_F(Accounting, AChangedRequestIsAnErrorBeforeAllOthers) {
  DeviceManager devices = WithDevices({{"0", true, {}}});
  ASSERT_TRUE(Take(devices, kClaim, 1));
  devices.SetDevices(kNpu, {});
  EXPECT_EQ(ErrorOf(devices, kClaim, 3),
            "pod \"uid\" container \"app\" changed request for resource \"dummy.com/npu\" from 1 "
            "to 3");
}

TEST_F(Accounting, WhatIsAllocatedAlreadyIsNotAllocatedAgain) {
  DeviceManager devices = WithDevices({{"0", true, {}}, {"1", true, {}}});
  ASSERT_TRUE(Take(devices, kClaim, 2));
  auto selection = devices.Begin(kClaim, 2, {});
  ASSERT_TRUE(selection);
  EXPECT_TRUE(selection->chosen.empty());
  EXPECT_EQ(selection->needed, 0);
}

TEST_F(Accounting, ReusableDevicesAreTakenFirst) {
  DeviceManager devices = WithDevices({{"0", true, {}}, {"1", true, {}}, {"2", true, {}}});
  ASSERT_EQ(Take(devices, {"uid", "init", kNpu}, 2)->size(), 2U);
  Ids held = devices.pod_devices().InUse().at(kNpu);
  auto app = Take(devices, kClaim, 2, held);
  ASSERT_TRUE(app);
  EXPECT_EQ(*app, held);
}

TEST_F(Accounting, PreferredDevicesComeFirstAndTheRestIsFilledUp) {
  DeviceManager devices = WithDevices(
      {{"0", true, {}}, {"1", true, {}}, {"2", true, {}}, {"3", true, {}}, {"4", false, {}}});
  auto selection = devices.Begin(kClaim, 3, {});
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->available, (Ids{"0", "1", "2", "3"}));
  ASSERT_TRUE(devices.Complete(kClaim, 3, *selection, {"1", "3", "4", "x"}));
  EXPECT_EQ(selection->chosen.size(), 3U);
  EXPECT_TRUE(selection->chosen.contains("1"));
  EXPECT_TRUE(selection->chosen.contains("3"));
  EXPECT_FALSE(selection->chosen.contains("4"));
}

TEST_F(Accounting, GarbageOfEndedPodsIsFreed) {
  DeviceManager devices = WithDevices({{"0", true, {}}});
  ASSERT_TRUE(Take(devices, kClaim, 1));
  Claim next{"uid-2", "app", kNpu};
  EXPECT_EQ(ErrorOf(devices, next, 1),
            "requested number of devices unavailable for dummy.com/npu. Requested: 1, Available: "
            "0");
  devices.CollectGarbage({"uid"});
  EXPECT_NE(ErrorOf(devices, next, 1), "");
  devices.CollectGarbage({"uid-2"});
  EXPECT_EQ(ErrorOf(devices, next, 1), "");
}

TEST_F(Accounting, AStoppedPluginsResourceIsDeletedAfterTheGrace) {
  DeviceManager devices = WithDevices({{"0", true, {}}, {"1", false, {}}});
  EXPECT_EQ(devices.NextExpiry(), std::nullopt);
  EXPECT_TRUE(devices.Detach(kNpu, "/a.sock", kNow));
  EXPECT_EQ(devices.NextExpiry(), kNow + kGrace);
  EXPECT_FALSE(devices.DeleteExpired(kNow + kGrace - Duration(1)));
  EXPECT_EQ(devices.Resources().at(0).capacity, 2);
  EXPECT_TRUE(devices.DeleteExpired(kNow + kGrace));
  EXPECT_EQ(devices.Resources().at(0).capacity, 0);
  EXPECT_EQ(devices.AllocatableCount(kNpu), 0);
  EXPECT_FALSE(devices.Handles(kNpu));
  EXPECT_EQ(devices.NextExpiry(), std::nullopt);
}

TEST_F(Accounting, AResourceWhoseDevicesAreHeldIsStillHandledAfterTheGrace) {
  DeviceManager devices = WithDevices({{"0", true, {}}});
  ASSERT_TRUE(Take(devices, kClaim, 1));
  devices.Detach(kNpu, "/a.sock", kNow);
  devices.DeleteExpired(kNow + kGrace);
  EXPECT_TRUE(devices.Handles(kNpu));
  EXPECT_EQ(devices.PluginOf(kNpu), nullptr);
  EXPECT_EQ(ErrorOf(devices, {"uid-2", "app", kNpu}, 1),
            "cannot allocate unregistered device dummy.com/npu");
}

TEST_F(Accounting, ANewRegistrationClearsTheGrace) {
  DeviceManager devices = WithDevices({{"0", true, {}}});
  devices.Detach(kNpu, "/a.sock", kNow);
  ASSERT_TRUE(devices.Attach(kNpu, At("/b.sock")));
  EXPECT_EQ(devices.NextExpiry(), std::nullopt);
  EXPECT_FALSE(devices.DeleteExpired(kNow + 2 * kGrace));
  EXPECT_TRUE(devices.Resources().at(0).connected);
  EXPECT_EQ(devices.Resources().at(0).capacity, 1);
}

TEST_F(Accounting, From137APathIsConnectedOnceAndDetachedOnce) {
  DeviceManager devices = Make(ConnectionRules::kFrom137);
  ASSERT_TRUE(devices.Attach(kNpu, At("/a.sock")));
  EXPECT_EQ(devices.Attach(kNpu, At("/a.sock")).error().message,
            "device plugin already connected: /a.sock");
  ASSERT_TRUE(devices.Attach(kNpu, At("/b.sock")));
  EXPECT_FALSE(devices.Detach(kNpu, "/c.sock", kNow));
  EXPECT_FALSE(devices.Detach(kNpu, "/b.sock", kNow));
  EXPECT_EQ(devices.PluginOf(kNpu)->path, "/a.sock");
  EXPECT_TRUE(devices.Detach(kNpu, "/a.sock", kNow));
  EXPECT_TRUE(devices.Attach(kNpu, At("/a.sock")));
}

TEST_F(Accounting, ARestoredCheckpointHasHoldersButNoDevices) {
  DeviceManager before = WithDevices({{"0", true, {{0, 1}}}, {"1", true, {}}});
  ASSERT_TRUE(Take(before, kClaim, 2));
  DeviceManager after = Make();
  after.Restore(before.Save(), kNow);
  EXPECT_EQ(after.Resources().at(0).capacity, 0);
  EXPECT_FALSE(after.Resources().at(0).connected);
  EXPECT_EQ(after.NextExpiry(), kNow + kGrace);
  const CheckpointEntry* entry = after.pod_devices().Find(kClaim);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->ids_by_numa, (std::map<std::string, std::vector<std::string>>{
                                    {"-1", {"1"}}, {"0", {"0"}}, {"1", {"0"}}}));
  EXPECT_EQ(entry->allocate_response, "response");
}

}  // namespace
}  // namespace tessera::kubelet::embedded
