// SPDX-License-Identifier: Apache-2.0
#include "grant/grant.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

constexpr char kNpu[] = "dummy.com/npu";

using Ids = std::vector<std::string>;

Device MakeDevice(const std::string& id) {
  Device device;
  device.key = {kNpu, id};
  device.visible_as = "npu" + id;
  device.nodes = {{"/dev/npu" + id, "/dev/npu" + id, "rw"}, {"/dev/npuctl", "/dev/npuctl", "rw"}};
  device.mounts = {{"/opt/npu/fw", "/opt/npu/fw", true}, {"/run/npu" + id, "/run/npu" + id, false}};
  return device;
}

Offer OfferOf(std::vector<Device> devices, const Policy& policy = {}) {
  const InventoryPtr inventory =
      Merge(std::make_shared<Inventory>(), kNpu, std::move(devices), [](const DeviceKey&) {
        return false;
      }).inventory;
  return Divide(kNpu, {policy}, *inventory, kNpu, [](const Device& device) -> std::optional<Error> {
    if (device.key.id == "7") return Error{Reason::kCheckFailed, "injected failure"};
    if (device.key.id == "8") return Error{Reason::kNotChecked, ""};
    return std::nullopt;
  });
}

Offer TenDevices(const Policy& policy = {}) {
  std::vector<Device> devices;
  for (int i = 1; i <= 10; ++i) devices.push_back(MakeDevice(std::to_string(i)));
  return OfferOf(devices, policy);
}

Rendering Only(Strategy strategy) {
  return {{strategy}, "NPU_VISIBLE", "dummy.com/npu"};
}

TEST(Allocate, TheVariableNamesExactlyTheDevicesInNaturalOrder) {
  const Grant grant = Allocate(TenDevices(), Only(Strategy::kEnvvar), Ids{"10", "2"}).value();

  Grant expected;
  expected.envs = {{"NPU_VISIBLE", "npu2,npu10"}};
  EXPECT_EQ(grant, expected);
}

TEST(Allocate, WithoutAVariableNoneIsSet) {
  Rendering rendering = Only(Strategy::kEnvvar);
  rendering.env = "";

  EXPECT_EQ(Allocate(TenDevices(), rendering, Ids{"1"}).value(), Grant{});
}

TEST(Allocate, VolumeMountsNameSharedFilesOnce) {
  const Grant grant = Allocate(TenDevices(), Only(Strategy::kVolumeMounts), Ids{"2", "1"}).value();

  Grant expected;
  expected.mounts = {{"/opt/npu/fw", "/opt/npu/fw", true},
                     {"/run/npu1", "/run/npu1", false},
                     {"/run/npu2", "/run/npu2", false}};
  EXPECT_EQ(grant, expected);
}

TEST(Allocate, DeviceSpecsNameSharedNodesOnce) {
  const Grant grant = Allocate(TenDevices(), Only(Strategy::kDeviceSpecs), Ids{"2", "1"}).value();

  Grant expected;
  expected.devices = {{"/dev/npu1", "/dev/npu1", "rw"},
                      {"/dev/npuctl", "/dev/npuctl", "rw"},
                      {"/dev/npu2", "/dev/npu2", "rw"}};
  EXPECT_EQ(grant, expected);
}

TEST(Allocate, CdiNamesGoIntoOneAnnotation) {
  const Grant grant =
      Allocate(TenDevices(), Only(Strategy::kCdiAnnotations), Ids{"2", "1"}).value();

  Grant expected;
  expected.annotations = {{"cdi.k8s.io/tessera_dummy.com_npu", "dummy.com/npu=1,dummy.com/npu=2"}};
  EXPECT_EQ(grant, expected);
}

TEST(Allocate, CdiNamesGoIntoTheCriField) {
  const Grant grant = Allocate(TenDevices(), Only(Strategy::kCdiCri), Ids{"2", "1"}).value();

  Grant expected;
  expected.cdi_devices = {"dummy.com/npu=1", "dummy.com/npu=2"};
  EXPECT_EQ(grant, expected);
}

TEST(Allocate, SeveralStrategiesAddUp) {
  const Rendering rendering{
      {Strategy::kEnvvar, Strategy::kVolumeMounts, Strategy::kDeviceSpecs}, "NPU_VISIBLE", ""};

  const Grant grant = Allocate(TenDevices(), rendering, Ids{"3"}).value();

  EXPECT_EQ(grant.envs.size(), 1U);
  EXPECT_EQ(grant.mounts.size(), 2U);
  EXPECT_EQ(grant.devices.size(), 2U);
}

TEST(Allocate, SharesOfOneDeviceNameItOnce) {
  const Grant grant = Allocate(TenDevices({Division::kReplicas, 3}), Only(Strategy::kEnvvar),
                               Ids{"2::0", "1::1", "2::2"})
                          .value();

  EXPECT_EQ(grant.envs.at("NPU_VISIBLE"), "npu1,npu2");
}

TEST(Allocate, WhatEveryContainerGetsComesBehindWhatItsDevicesBring) {
  Rendering rendering{{Strategy::kEnvvar, Strategy::kVolumeMounts}, "NPU_VISIBLE", ""};
  rendering.envs = {{"NPU_PIPES", "/npu/pipes"}};
  rendering.mounts = {{"/run/npu/shm", "/dev/shm", false}};
  rendering.annotations = {{"npu.com/mode", "fast"}};

  const Grant grant = Allocate(TenDevices(), rendering, Ids{"3"}).value();

  EXPECT_EQ(grant.envs, (std::map<std::string, std::string>{{"NPU_PIPES", "/npu/pipes"},
                                                            {"NPU_VISIBLE", "npu3"}}));
  ASSERT_EQ(grant.mounts.size(), 3U);
  EXPECT_EQ(grant.mounts[2], (Mount{"/run/npu/shm", "/dev/shm", false}));
  EXPECT_EQ(grant.annotations, rendering.annotations);
}

TEST(Allocate, OneShareAContainerIsALimitOfSharedDevicesAlone) {
  Rendering rendering = Only(Strategy::kEnvvar);
  rendering.one_per_container = true;
  const Offer shared = TenDevices({Division::kReplicas, 3});

  EXPECT_EQ(Allocate(shared, rendering, Ids{"1::0", "2::0"}).error(),
            (Error{Reason::kTooManyShares,
                   "dummy.com/npu: 2 shares are requested, and a container may hold 1 of this "
                   "resource"}));
  EXPECT_EQ(Allocate(shared, rendering, Ids{"2::0"})->envs.at("NPU_VISIBLE"), "npu2");
  EXPECT_EQ(Allocate(TenDevices(), rendering, Ids{"1", "2"})->envs.at("NPU_VISIBLE"), "npu1,npu2");
}

TEST(Allocate, TheSameIdsGiveTheSameAnswer) {
  const Offer offer = TenDevices();
  const Rendering rendering{{Strategy::kEnvvar, Strategy::kVolumeMounts, Strategy::kDeviceSpecs,
                             Strategy::kCdiAnnotations, Strategy::kCdiCri},
                            "NPU_VISIBLE",
                            "dummy.com/npu"};

  EXPECT_EQ(Allocate(offer, rendering, Ids{"1", "2", "10"}).value(),
            Allocate(offer, rendering, Ids{"10", "1", "2"}).value());
}

TEST(Allocate, DevicesAreNamedInTheirOwnOrderBeforeThatOfTheirIds) {
  std::vector<Device> devices = {MakeDevice("1"), MakeDevice("2"), MakeDevice("3")};
  devices[0].order = 7;
  const Offer offer = OfferOf(devices);

  EXPECT_EQ(Allocate(offer, Only(Strategy::kEnvvar), Ids{"1", "3", "2"})->envs,
            (std::map<std::string, std::string>{{"NPU_VISIBLE", "npu2,npu3,npu1"}}));
}

TEST(Allocate, MountsNameTheDevicesToARuntimeThatLooksForThem) {
  Rendering rendering{{Strategy::kEnvvar, Strategy::kVolumeMounts}, "NPU_VISIBLE", ""};
  rendering.mount_list_dir = "/run/npus";
  std::vector<Device> devices = {MakeDevice("1"), MakeDevice("2")};
  for (Device& device : devices) device.mounts.clear();

  const Grant grant = Allocate(OfferOf(devices), rendering, Ids{"2", "1"}).value();

  Grant expected;
  expected.envs = {{"NPU_VISIBLE", "/run/npus"}};
  expected.mounts = {{"/dev/null", "/run/npus/npu1", false},
                     {"/dev/null", "/run/npus/npu2", false}};
  EXPECT_EQ(grant, expected);
}

TEST(Allocate, RefusalsNameResourceIdAndCause) {
  struct Row {
    Ids ids;
    Error error;
  };
  const Row rows[] = {
      {{}, {Reason::kEmptyRequest, "dummy.com/npu: the request names no device"}},
      {{"2", "1", "2"}, {Reason::kDuplicateShare, "dummy.com/npu: id 2 is requested twice"}},
      {{"1", "99"},
       {Reason::kUnknownShare, "dummy.com/npu: there is no id 99 among the 10 this node offers"}},
      {{"7"}, {Reason::kUnhealthyShare, "dummy.com/npu: device 7 is unhealthy: injected failure"}},
      {{"1", "8"}, {Reason::kUnhealthyShare, "dummy.com/npu: device 8 is unhealthy: not-checked"}},
  };

  for (const Row& row : rows) {
    const Result<Grant> grant = Allocate(TenDevices(), Only(Strategy::kEnvvar), row.ids);
    ASSERT_FALSE(grant) << row.error.message;
    EXPECT_EQ(grant.error(), row.error);
  }
}

TEST(Allocate, ARefusalTellsAPersonWhatToDo) {
  const Result<Grant> grant = Allocate(TenDevices(), Only(Strategy::kEnvvar), Ids{"7"});

  EXPECT_EQ(grant.error().Text(),
            "dummy.com/npu: device 7 is unhealthy: injected failure [unhealthy-share]: delete the "
            "pod so that it is placed again; 'tessera explain' on the node says why the device is "
            "out");
}

TEST(Allocate, AShareOfASickDeviceNamesTheDevice) {
  const Result<Grant> grant =
      Allocate(TenDevices({Division::kReplicas, 2}), Only(Strategy::kEnvvar), Ids{"7::1"});

  EXPECT_EQ(grant.error().message, "dummy.com/npu: device 7 is unhealthy: injected failure");
}

TEST(Allocate, TwoThingsForOnePlaceInTheContainerAreRefused) {
  std::vector<Device> devices = {MakeDevice("1"), MakeDevice("2")};
  for (Device& device : devices) device.nodes[0].container_path = "/dev/npu";
  const Offer offer = OfferOf(devices);

  EXPECT_TRUE(Allocate(offer, Only(Strategy::kDeviceSpecs), Ids{"1"}));
  EXPECT_EQ(Allocate(offer, Only(Strategy::kDeviceSpecs), Ids{"1", "2"}).error(),
            (Error{Reason::kPathConflict,
                   "dummy.com/npu: devices 1 and 2 both need /dev/npu in the container"}));
}

TEST(Strategy, NamesReadBack) {
  EXPECT_EQ(StrategyName(Strategy::kDeviceSpecs), "device-specs");
  for (Strategy strategy : {Strategy::kEnvvar, Strategy::kVolumeMounts, Strategy::kDeviceSpecs,
                            Strategy::kCdiAnnotations, Strategy::kCdiCri}) {
    EXPECT_EQ(StrategyFromName(StrategyName(strategy)), strategy);
  }
  EXPECT_EQ(StrategyFromName("magic"), std::nullopt);
}

}  // namespace
}  // namespace tessera
