// SPDX-License-Identifier: Apache-2.0
#include "placement/device_choice.h"

#include <gtest/gtest.h>

#include <utility>

#include "placement/placement_under_test.h"

namespace tessera {
namespace {

using Kind = kube::Container::Kind;

const RequestRules kRules{.count_name = kGpu,
                          .memory_name = "nvidia.com/gpumem",
                          .percentage_name = "nvidia.com/gpumem-percentage",
                          .cores_name = "nvidia.com/gpucores"};

class DeviceChoiceTest : public ::testing::Test {
 protected:
  DeviceChoiceTest() {
    for (const DeviceCapacity& capacity : TwoCapacities()) {
      devices_.push_back({.capacity = capacity, .type = "NVIDIA A100"});
    }
  }
  static DeviceDemand DemandOf(std::vector<kube::Container> containers) {
    return {.containers = AskingContainersOf(PodWith(std::move(containers)), kRules).value()};
  }
  // The placement, or why there is none.
  std::string Choose(const DeviceDemand& demand) const {
    const auto placement = ChooseDevices(demand, devices_);
    return placement ? PlacementText(*placement) : std::string(placement.error().why);
  }
  static std::string On(const char* container, const char* device, int memory) {
    return fmt::format("{}: {}={}:30;", container, device, memory);
  }

  std::vector<CandidateDevice> devices_;
};

TEST_F(DeviceChoiceTest, SpreadTakesTheEmptiestDeviceWithRoom) {
  devices_[0].used = {1, 1000, 10};
  EXPECT_EQ(Choose(DemandOf({Asking("main", 1, 3000)})), On("main", kSecond, 3000));
}

TEST_F(DeviceChoiceTest, BinpackTakesTheFullestDeviceWithRoom) {
  devices_[0].used = {1, 1000, 10};
  DeviceDemand demand = DemandOf({Asking("main", 1, 3000)});
  demand.policy = DevicePolicy::kBinpack;
  EXPECT_EQ(Choose(demand), On("main", kFirst, 3000));
}

TEST_F(DeviceChoiceTest, OfEqualDevicesTheOneOfTheHigherNumaNodeGoesFirstThenTheLast) {
  EXPECT_EQ(Choose(DemandOf({Asking("main", 1, 3000)})), On("main", kSecond, 3000));
  devices_[0].numa = 1;
  EXPECT_EQ(Choose(DemandOf({Asking("main", 1, 3000)})), On("main", kFirst, 3000));
}

TEST_F(DeviceChoiceTest, AppContainersAddUp) {
  devices_.pop_back();
  EXPECT_EQ(Choose(DemandOf({Asking("a", 1, 5000), Asking("b", 1, 3000)})),
            On("a", kFirst, 5000) + On("b", kFirst, 3000));
  EXPECT_EQ(Choose(DemandOf({Asking("a", 1, 5000), Asking("b", 1, 3001)})),
            "devices have too little memory left");
}

TEST_F(DeviceChoiceTest, AnInitContainerHasWhatAppContainersGetLater) {
  devices_.pop_back();
  EXPECT_EQ(Choose(DemandOf({Asking("init", 1, 8000, Kind::kInit), Asking("main", 1, 8000)})),
            On("init", kFirst, 8000) + On("main", kFirst, 8000));
}

TEST_F(DeviceChoiceTest, ASidecarKeepsItsPartBesideALaterInitContainer) {
  devices_.pop_back();
  EXPECT_EQ(Choose(DemandOf(
                {Asking("side", 1, 1000, Kind::kSidecar), Asking("init", 1, 7001, Kind::kInit)})),
            "devices have too little memory left");
  EXPECT_EQ(Choose(DemandOf(
                {Asking("init", 1, 8000, Kind::kInit), Asking("side", 1, 1000, Kind::kSidecar)})),
            On("init", kFirst, 8000) + On("side", kFirst, 1000));
}

TEST_F(DeviceChoiceTest, WhoWantsAllOfTheTimeSharesWithNobody) {
  devices_.pop_back();
  DeviceDemand demand = DemandOf({Asking("main", 1, 1000)});
  demand.containers[0].request.cores = 100;
  devices_[0].used = {1, 100, 0};
  EXPECT_EQ(Choose(demand), "devices have too little compute time left");
  demand.containers[0].request.cores = 0;
  devices_[0].used = {1, 100, 100};
  EXPECT_EQ(Choose(demand), "devices have too little compute time left");
}

TEST_F(DeviceChoiceTest, WhatADeviceLacksLastIsSaid) {
  devices_[0].healthy = false;
  devices_[1].cordoned = true;
  EXPECT_EQ(Choose(DemandOf({Asking("main", 1, 1000)})),
            "the devices that it could have are cordoned");
  devices_[1].cordoned = false;
  devices_[1].used = {10, 100, 10};
  EXPECT_EQ(Choose(DemandOf({Asking("main", 1, 1000)})),
            "as many containers as devices may have are on them already");
  EXPECT_EQ(Choose(DemandOf({Asking("main", 3, 1000)})),
            "the node has fewer devices than a container asks for");
}

TEST_F(DeviceChoiceTest, OnlyLackOfRoomPassesWhenPodsEnd) {
  devices_[0].used = devices_[1].used = {1, 7500, 10};
  EXPECT_EQ(ChooseDevices(DemandOf({Asking("main", 1, 1000)}), devices_).error(),
            (Misfit{"devices have too little memory left", true}));
  devices_[0].healthy = devices_[1].healthy = false;
  EXPECT_EQ(ChooseDevices(DemandOf({Asking("main", 1, 1000)}), devices_).error(),
            (Misfit{"no healthy device is left", false}));
}

TEST_F(DeviceChoiceTest, TypesAreWantedByAnyPartOfTheirName) {
  devices_[0].type = "NVIDIA Tesla P4";
  DeviceDemand demand = DemandOf({Asking("main", 1, 1000)});
  demand.selector.types = {"tesla"};
  EXPECT_EQ(Choose(demand), On("main", kFirst, 1000));
  demand.selector = {.no_types = {"a100", "P4"}};
  EXPECT_EQ(Choose(demand), "no device is of a type that the pod wants");
}

TEST_F(DeviceChoiceTest, IdsAreWantedAsTheyAre) {
  DeviceDemand demand = DemandOf({Asking("main", 1, 1000)});
  demand.selector.ids = {kFirst};
  EXPECT_EQ(Choose(demand), On("main", kFirst, 1000));
  demand.selector.no_ids = {kFirst};
  EXPECT_EQ(Choose(demand), "no device is one that the pod wants by its id");
}

TEST_F(DeviceChoiceTest, ASizeThatCannotBeReadIsNoRequest) {
  kube::Container bad = Asking("main", 1, 1000);
  bad.limits["nvidia.com/gpumem"] = "16G5";
  const auto containers = AskingContainersOf(PodWith({bad}), kRules);
  ASSERT_FALSE(containers);
  EXPECT_EQ(containers.error().reason, Reason::kBadSize);
  EXPECT_EQ(containers.error().message,
            "container main asks for 16G5 of nvidia.com/gpumem, which is no number below 2^31");
}

}  // namespace
}  // namespace tessera
