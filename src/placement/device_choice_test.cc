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
  // The placement, or the reason for none.
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
  demand.policy.keys = {FullestFirst};
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
  EXPECT_EQ(Choose(demand), "a container wants devices for itself, but other containers use them");
  devices_[0].capacity.cores = 200;  // of which 100 percent are a part
  EXPECT_EQ(Choose(demand), "main: " + std::string(kFirst) + "=1000:100;");
  devices_[0].capacity.cores = 100;
  demand.containers[0].request.cores = 0;
  devices_[0].used = {1, 100, 100};
  EXPECT_EQ(Choose(demand), "devices have too little compute time left");
}

TEST_F(DeviceChoiceTest, ADeviceWithoutComputeTimeIsFullOfItForThoseAloneThatAskForSome) {
  devices_.pop_back();
  devices_[0].capacity.cores = 0;
  DeviceDemand demand = DemandOf({Asking("main", 1, 1000)});
  EXPECT_EQ(Choose(demand), "devices have less in all than a container asks for");
  demand.containers[0].request.cores = 0;
  devices_[0].used = {1, 100, 0};
  EXPECT_EQ(Choose(demand), "main: " + std::string(kFirst) + "=1000:0;");
}

TEST_F(DeviceChoiceTest, AShareInPercentIsOfEachDevicesOwnMemory) {
  devices_[1].capacity.memory = 16000;
  DeviceDemand demand = DemandOf({Asking("main", 2, 0)});
  demand.containers[0].request.percentage = 50;
  EXPECT_EQ(Choose(demand), fmt::format("main: {}=8000:30,{}=4000:30;", kSecond, kFirst));
}

TEST_F(DeviceChoiceTest, ACountAloneIsAllOfTheMemory) {
  devices_[0].used = {1, 1, 0};
  EXPECT_EQ(Choose(DemandOf({Asking("main", 1, 0)})), On("main", kSecond, 8000));
  EXPECT_EQ(Choose(DemandOf({Asking("main", 2, 0)})), "devices have too little memory left");
}

TEST_F(DeviceChoiceTest, WhoWantsADeviceAloneSharesNotEvenWithItsOwnPod) {
  DeviceDemand demand = DemandOf({Asking("a", 1, 1000), Asking("b", 1, 1000)});
  demand.policy = {.keys = {HighestNumaFirst}, .alone = true};
  EXPECT_EQ(Choose(demand), On("a", kSecond, 1000) + On("b", kFirst, 1000));
  devices_[0].used = {1, 0, 0};
  EXPECT_EQ(Choose(demand), "a container wants devices for itself, but other containers use them");
}

TEST_F(DeviceChoiceTest, DevicesOfOneNumaNodeAreAskedForAsThat) {
  devices_[1].numa = 1;
  DeviceDemand demand = DemandOf({Asking("main", 2, 1000)});
  demand.policy.together = Together::kOneNuma;
  EXPECT_EQ(ChooseDevices(demand, devices_).error(),
            (Misfit{"no NUMA node has as many devices as a container wants on one node", false}));
  devices_.push_back(devices_[0]);
  devices_[2].capacity.device = "GPU-2";
  devices_[2].used.containers = 10;
  EXPECT_EQ(ChooseDevices(demand, devices_).error(),
            (Misfit{"the devices with room are not on one NUMA node", true}));
  devices_[2].used.containers = 9;
  EXPECT_EQ(Choose(demand), fmt::format("main: {}=1000:30,GPU-2=1000:30;", kFirst));
}

TEST_F(DeviceChoiceTest, MoreThanADeviceHasInAllDoesNotPass) {
  EXPECT_EQ(ChooseDevices(DemandOf({Asking("main", 1, 8001)}), devices_).error(),
            (Misfit{"devices have less in all than a container asks for", false}));
}

TEST_F(DeviceChoiceTest, WhatADeviceLacksLastIsSaid) {
  devices_[0].healthy = false;
  devices_[1].cordoned = true;
  EXPECT_EQ(Choose(DemandOf({Asking("main", 1, 1000)})), "its candidate devices are cordoned");
  devices_[1].cordoned = false;
  devices_[1].used = {10, 100, 10};
  EXPECT_EQ(Choose(DemandOf({Asking("main", 1, 1000)})),
            "the devices already have as many containers as they may");
  EXPECT_EQ(Choose(DemandOf({Asking("main", 3, 1000)})),
            "the node has fewer devices than a container asks for");
}

TEST_F(DeviceChoiceTest, OnlyLackOfRoomPassesWhenPodsEnd) {
  devices_[0].used = devices_[1].used = {1, 7500, 10};
  EXPECT_EQ(ChooseDevices(DemandOf({Asking("main", 1, 1000)}), devices_).error(),
            (Misfit{"devices have too little memory left", true}));
  devices_[0].healthy = devices_[1].healthy = false;
  EXPECT_EQ(ChooseDevices(DemandOf({Asking("main", 1, 1000)}), devices_).error(),
            (Misfit{"too few devices are healthy", false}));
}

TEST_F(DeviceChoiceTest, TypesAreWantedByAnyPartOfTheirName) {
  devices_[0].type = "NVIDIA Tesla P4";
  DeviceDemand demand = DemandOf({Asking("main", 1, 1000)});
  demand.selector.types = {"tesla"};
  EXPECT_EQ(Choose(demand), On("main", kFirst, 1000));
  demand.selector = {.no_types = {"a100", "P4"}};
  EXPECT_EQ(Choose(demand), "too few devices are of a type that the pod wants");
}

TEST_F(DeviceChoiceTest, IdsAreWantedAsTheyAre) {
  DeviceDemand demand = DemandOf({Asking("main", 1, 1000)});
  demand.selector.ids = {kFirst};
  EXPECT_EQ(Choose(demand), On("main", kFirst, 1000));
  demand.selector.no_ids = {kFirst};
  EXPECT_EQ(Choose(demand), "too few devices have ids that the pod wants");
}

TEST_F(DeviceChoiceTest, ADeviceHasTheFamilysNameInItsTypeAndAModeThatIsWanted) {
  devices_[0].mode = "core";
  devices_[1].mode = "slices";
  DeviceDemand demand = DemandOf({Asking("main", 1, 1000)});
  demand.selector = {.family = "nvidia", .modes = "core,other"};
  EXPECT_EQ(Choose(demand), On("main", kFirst, 1000));
  demand.selector.modes = "other";
  EXPECT_EQ(Choose(demand), "too few devices are divided in the way that the pod wants");
  devices_[0].mode = "";  // not said: any
  EXPECT_EQ(Choose(demand), On("main", kFirst, 1000));
  demand.selector.family = "Ascend";
  EXPECT_EQ(Choose(demand), "too few devices are of a type that the pod wants");
}

// A device with four slices, in parts of one or two.
class SlicedDeviceTest : public DeviceChoiceTest {
 protected:
  SlicedDeviceTest() {
    devices_.pop_back();
    devices_[0].profiles = {
        {.name = "half", .memory = 4000, .cores = 50, .slices = 2, .places = {{0, 2}, {2, 2}}},
        {.name = "quarter",
         .memory = 2000,
         .cores = 25,
         .slices = 1,
         .places = {{3, 1}, {2, 1}, {1, 1}, {0, 1}}}};
  }
  static DeviceDemand Want(int count, int memory) {
    DeviceDemand demand = DemandOf({Asking("main", count, memory)});
    demand.containers[0].request.cores = 0;
    return demand;
  }
};

TEST_F(SlicedDeviceTest, AContainerGetsTheSmallestSliceThatIsLargeEnough) {
  const auto placement = ChooseDevices(Want(1, 1500), devices_);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->front().parts, (std::vector<Fraction>{{kFirst, 2000, 25}}));
  EXPECT_EQ(placement->front().slices, (std::vector<PlacedSlice>{{0, "quarter", {3, 1}}}));
  EXPECT_EQ(UsageOf(placement->front()), (UsageByDevice{{kFirst, {1, 2000, 25, 0b1000}}}));
}

TEST_F(SlicedDeviceTest, SeveralSlicesOfOneDeviceDoNotOverlapWhatIsTaken) {
  devices_[0].used = {1, 2000, 25, 0b0010};
  const auto placement = ChooseDevices(Want(2, 2000), devices_);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->front().slices,
            (std::vector<PlacedSlice>{{0, "quarter", {3, 1}}, {1, "quarter", {2, 1}}}));
}

TEST_F(SlicedDeviceTest, ALargerSliceIsTakenWhereTheSmallestHasNoPlace) {
  devices_[0].profiles[1].places = {{3, 1}};
  const auto placement = ChooseDevices(Want(2, 2000), devices_);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->front().slices,
            (std::vector<PlacedSlice>{{0, "quarter", {3, 1}}, {1, "half", {0, 2}}}));
}

TEST_F(SlicedDeviceTest, AnInitContainersSliceIsNoOthers) {
  DeviceDemand demand = DemandOf({Asking("init", 1, 2000, Kind::kInit), Asking("main", 1, 2000)});
  for (AskingContainer& container : demand.containers) container.request.cores = 0;
  const auto placement = ChooseDevices(demand, devices_);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->front().slices, (std::vector<PlacedSlice>{{0, "quarter", {3, 1}}}));
  EXPECT_EQ(placement->back().slices, (std::vector<PlacedSlice>{{0, "quarter", {2, 1}}}));
}

TEST_F(SlicedDeviceTest, RoomInPiecesIsNoSlice) {
  devices_[0].used = {2, 4000, 50, 0b1010};
  EXPECT_EQ(ChooseDevices(Want(1, 2500), devices_).error(),
            (Misfit{"devices have no slice left that is large enough", true}));
  EXPECT_EQ(ChooseDevices(Want(1, 4001), devices_).error(),
            (Misfit{"devices have less in all than a container asks for", false}));
  EXPECT_EQ(ChooseDevices(Want(5, 2000), devices_).error(),
            (Misfit{"the node has fewer devices than a container asks for", false}));
}

TEST_F(SlicedDeviceTest, NothingIsHadOfADeviceOfWhichNobodyKnowsWhatIsTaken) {
  devices_[0].unclear = true;
  EXPECT_EQ(Choose(Want(1, 2000)), "the pods' shares of the devices are unknown");
}

TEST_F(DeviceChoiceTest, ASizeThatCannotBeReadIsNoRequest) {
  kube::Container bad = Asking("main", 1, 1000);
  bad.limits["nvidia.com/gpumem"] = "16G5";
  const auto containers = AskingContainersOf(PodWith({bad}), kRules);
  ASSERT_FALSE(containers);
  EXPECT_EQ(containers.error().reason, Reason::kBadSize);
  EXPECT_EQ(
      containers.error().message,
      "container main asks for 16G5 of nvidia.com/gpumem: write how many MiB of each device, a "
      "whole number from 0 to 2147483647");
}

TEST_F(DeviceChoiceTest, ComputeTimeInUnitsIsGivenByPercentOfThese) {
  for (CandidateDevice& device : devices_) device.capacity.cores = 304;
  DeviceDemand demand = DemandOf({Asking("main", 1, 3000)});
  demand.traits.core_units = true;
  EXPECT_EQ(Choose(demand), fmt::format("main: {}=3000:91;", kSecond));
  for (CandidateDevice& device : devices_) device.used.cores = 214;
  EXPECT_EQ(Choose(demand), "devices have too little compute time left");
  for (CandidateDevice& device : devices_) device.capacity.cores = 3;
  for (CandidateDevice& device : devices_) device.used.cores = 2;
  EXPECT_EQ(Choose(demand), fmt::format("main: {}=3000:1;", kSecond));
  // 0 percent counts as no request, so it is all units.
  demand.containers[0].request.cores = 0;
  EXPECT_EQ(Choose(demand), "devices have too little compute time left");
}

TEST_F(DeviceChoiceTest, PartsOfADeviceMayHaveToBeEqual) {
  devices_[0].used = {2, 6000, 0};
  devices_[1].used = {1, 2000, 0};
  DeviceDemand demand = DemandOf({Asking("main", 1, 2000), Asking("next", 1, 2000)});
  demand.traits.equal_parts = true;
  EXPECT_EQ(Choose(demand), On("main", kSecond, 2000) + On("next", kSecond, 2000));
  demand.containers[0].request.memory = 1000;
  EXPECT_EQ(Choose(demand), "devices are divided into parts of another size");
}

TEST_F(DeviceChoiceTest, SeveralDevicesMayHaveToBeWholes) {
  DeviceDemand demand = DemandOf({Asking("main", 2, 8000)});
  demand.traits.several_whole = true;
  EXPECT_EQ(Choose(demand),
            "a container asks for parts of several devices, which are granted whole only");
  demand.containers[0].request.cores = 0;
  EXPECT_EQ(Choose(demand), fmt::format("main: {}=8000:0,{}=8000:0;", kSecond, kFirst));
}

TEST_F(DeviceChoiceTest, ADeviceWithoutASizeIsCountedByContainers) {
  for (CandidateDevice& device : devices_) device.capacity = {device.capacity.device, 1, 0, 0};
  const DeviceDemand demand{.containers = {{.name = "main", .request = {.count = 2}}}};
  EXPECT_EQ(Choose(demand), fmt::format("main: {}=0:0,{}=0:0;", kSecond, kFirst));
  devices_[0].used.containers = 1;
  EXPECT_EQ(Choose(demand), "the devices already have as many containers as they may");
}

TEST_F(DeviceChoiceTest, DevicesThatAreNotTogetherAreNone) {
  DeviceDemand demand = DemandOf({Asking("main", 2, 1000)});
  demand.policy.together = Together::kOneGroup;
  devices_[0].group = 1;
  EXPECT_EQ(Choose(demand), "too few devices belong together");
  demand.policy.together = Together::kPairs;
  EXPECT_EQ(Choose(demand), "too few devices belong together");
  devices_[1].group = 1;
  EXPECT_EQ(Choose(demand), fmt::format("main: {}=1000:30,{}=1000:30;", kSecond, kFirst));
}

}  // namespace
}  // namespace tessera
