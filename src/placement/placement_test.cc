// SPDX-License-Identifier: Apache-2.0
#include "placement/placement.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tessera {
namespace {

using kube::Container;

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr char kFirst[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
constexpr char kSecond[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a43";

// A container that asks for so many cards with so many MiB of each and a third of its time.
Container Asking(const std::string& name, int count, int memory,
                 Container::Kind kind = Container::Kind::kApp) {
  Container container{.name = name, .kind = kind};
  if (count > 0) container.limits[kGpu] = std::to_string(count);
  if (memory > 0) container.limits["nvidia.com/gpumem"] = std::to_string(memory);
  container.limits["nvidia.com/gpucores"] = "30";
  return container;
}

kube::Pod PodWith(std::vector<Container> containers, const std::string& allocated) {
  kube::Pod pod{.uid = "uid-1", .pod_namespace = "team", .name = "train", .node = "worker-1"};
  pod.containers = std::move(containers);
  if (!allocated.empty()) {
    pod.annotations["hami.io/vgpu-devices-allocated"] = allocated;
    pod.annotations["hami.io/vgpu-node"] = "worker-1";
  }
  return pod;
}

std::string Device(const std::string& uuid, int memory, int cores) {
  return fmt::format("{},NVIDIA,{},{}:", uuid, memory, cores);
}

class PlacementTest : public testing::Test {
 protected:
  // Why it is none, or of all containers "NAME: PARTS".
  std::string Read(const kube::Pod& pod) const { return Text(ReadPlacement(pod, rules_, cards_)); }
  static std::string Text(const Result<PodPlacement>& placement) {
    if (!placement) {
      return fmt::format("{}: {}", ReasonName(placement.error().reason), placement.error().message);
    }
    std::string text;
    for (const PlacedContainer& container : *placement) {
      text += fmt::format("{}: {};", container.name, PartsText(container.parts));
    }
    return text;
  }

  const hami::RequestRules rules_ = RulesOf(kGpu, {});
  const std::vector<hami::RegisteredDevice> cards_ = {
      {.id = kFirst, .count = 10, .devmem = 8000, .devcore = 100},
      {.id = kSecond, .count = 10, .devmem = 8000, .devcore = 100}};
};

TEST_F(PlacementTest, WhatTheSchedulerChoseBelongsToTheContainersThatAskInTheirOrder) {
  const auto pod = PodWith(
      {Asking("prepare", 1, 1000, Container::Kind::kInit), Asking("beside", 0, 0),
       Asking("main", 2, 3000)},
      Device(kSecond, 1000, 30) + ";" + Device(kFirst, 3000, 30) + Device(kSecond, 2000, 20) + ";");
  EXPECT_EQ(Read(pod),
            fmt::format("prepare: {1}=1000:30;main: {0}=3000:30,{1}=2000:20;", kFirst, kSecond));
}

TEST_F(PlacementTest, ByAPodOfWhichSomethingIsOverItsBoundNothingIsDecided) {
  auto pod = PodWith({Asking("main", 1, 3000)}, Device(kFirst, 3000, 30) + ";");
  pod.excess = "annotations: hami.io/x has 250000 bytes, at most 32768 are read";

  EXPECT_EQ(Read(pod),
            "bad-decision: pod team/train: what was chosen for it is not what it asks for: "
            "annotations: hami.io/x has 250000 bytes, at most 32768 are read");
  EXPECT_EQ(Text(FitPlacement(pod, rules_, cards_, {{"main", {kFirst}}})),
            "bad-size: pod team/train: it cannot have what it asks for: annotations: hami.io/x has "
            "250000 bytes, at most 32768 are read");
}

TEST_F(PlacementTest, APodThatNobodyPlacedHasNone) {
  EXPECT_EQ(Read(PodWith({Asking("main", 1, 3000)}, "")),
            "not-placed: pod team/train: no scheduler has chosen GPUs for it: it has no annotation "
            "hami.io/vgpu-devices-allocated");
}

TEST_F(PlacementTest, WhatWasChosenOnAnotherNodeIsNotTaken) {
  auto pod = PodWith({Asking("main", 1, 3000)}, Device(kFirst, 3000, 30) + ";");
  pod.annotations["hami.io/vgpu-node"] = "worker-2";
  EXPECT_EQ(Read(pod),
            "not-placed: pod team/train: its GPUs were chosen for node worker-2, and it runs on "
            "worker-1: hami.io/vgpu-node");
}

TEST_F(PlacementTest, MoreThanTheContainerAsksForIsNotTaken) {
  const std::string prefix =
      "bad-decision: pod team/train, container main: what was chosen for it is not what it asks "
      "for: ";
  const std::vector<Container> containers = {Asking("main", 1, 3000)};
  EXPECT_EQ(Read(PodWith(containers, Device(kFirst, 3001, 30) + ";")),
            prefix + "3001 MiB of " + kFirst + ", where the container asks for 3000");
  EXPECT_EQ(Read(PodWith(containers, Device(kFirst, 3000, 31) + ";")),
            prefix + "31 % of the cores of " + kFirst + ", where the container asks for 30");
  EXPECT_EQ(Read(PodWith(containers, Device("GPU-others", 3000, 30) + ";")),
            prefix + "GPU-others is no card of this node");
  EXPECT_EQ(Read(PodWith(containers, Device(kFirst, 1, 1) + Device(kSecond, 1, 1) + ";")),
            prefix + "2 devices, where the container asks for 1");
}

TEST_F(PlacementTest, WhatCannotBeReadIsNotGuessed) {
  EXPECT_EQ(Read(PodWith({Asking("main", 1, 3000)}, "GPU-1,NVIDIA:;")),
            "bad-decision: pod team/train: what was chosen for it is not what it asks for: a pod's "
            "devices: device GPU-1,NVIDIA: it has 2 fields, not 4");
}

TEST_F(PlacementTest, WithoutASchedulerItIsWhatTheContainersAskForOnTheCardsThatKubeletChose) {
  const auto pod = PodWith({Asking("main", 2, 3000), Asking("beside", 1, 500)}, "");
  EXPECT_EQ(Text(FitPlacement(pod, rules_, cards_,
                              {{"main", {std::string(kFirst) + "-0", std::string(kSecond) + "-7"}},
                               {"beside", {std::string(kSecond) + "-1"}}})),
            fmt::format("main: {0}=3000:30,{1}=3000:30;beside: {1}=500:30;", kFirst, kSecond));
}

TEST_F(PlacementTest, WhatAnAnnotationOfThePodAsksForIsRefusedWhereItIsNoSize) {
  auto pod = PodWith({Asking("main", 1, 0)}, "");
  const SharesByContainer shares = {{"main", {std::string(kFirst) + "-0"}}};
  pod.annotations["tessera.dev/gpu-memory"] = "3000";
  EXPECT_EQ(Text(FitPlacement(pod, rules_, cards_, shares)),
            fmt::format("main: {}=3000:30;", kFirst));
  pod.annotations["tessera.dev/gpu-memory"] = "3000MB";
  EXPECT_EQ(Text(FitPlacement(pod, rules_, cards_, shares)),
            "bad-size: pod team/train, container main: it cannot have what it asks for: annotation "
            "tessera.dev/gpu-memory is 3000MB: write how many MiB of each GPU, '3000', or a size "
            "with its unit, '3000Mi' or '3Gi'");
}

TEST_F(PlacementTest, SharesOfOneCardAddUp) {
  const auto pod = PodWith({Asking("main", 4, 1500)}, "");
  const std::string card = kFirst;
  EXPECT_EQ(Text(FitPlacement(pod, rules_, cards_,
                              {{"main", {card + "-0", card + "-1", card + "-2", card + "-3"}}})),
            "main: " + card + "=6000:100;");
}

TEST_F(PlacementTest, WhatItTakesIsTheMostAtATimeAndNothingAfterItsEnd) {
  const PodPlacement placement = {{"prepare", hami::ContainerKind::kInit, {{kFirst, 5000, 10}}},
                                  {"main", hami::ContainerKind::kApp, {{kFirst, 3000, 30}}}};
  auto pod =
      PodWith({Asking("prepare", 1, 5000, Container::Kind::kInit), Asking("main", 1, 3000)}, "");
  using Usage = std::map<std::string, hami::CardUsage>;
  EXPECT_EQ(UsageOf(placement, nullptr), (Usage{{kFirst, {1, 5000, 30}}}));
  EXPECT_EQ(UsageOf(placement, &pod), (Usage{{kFirst, {1, 5000, 30}}}));
  pod.containers[0].succeeded = true;
  EXPECT_EQ(UsageOf(placement, &pod), (Usage{{kFirst, {1, 3000, 30}}}));
  pod.phase = kube::Pod::Phase::kSucceeded;
  EXPECT_EQ(UsageOf(placement, &pod), Usage());
}

TEST_F(PlacementTest, AContainerGoesWithoutTheLibraryByItsOwnWord) {
  auto pod = PodWith({Asking("main", 1, 3000), Asking("beside", 1, 3000)}, "");
  pod.containers[0].variables["CUDA_DISABLE_CONTROL"] = "true";
  EXPECT_TRUE(WantsNoControl(pod, "main"));
  EXPECT_FALSE(WantsNoControl(pod, "beside"));
  EXPECT_FALSE(WantsNoControl(pod, "nobody"));
}

TEST(CardsOf, CountWhatTheConfigurationMakesOfThem) {
  Offer offer;
  tessera::Device device;
  device.key = {kGpu, kFirst};
  device.memory = 1000;
  offer.devices.push_back(device);
  EXPECT_EQ(CardsOf(offer, {.parts = 5, .memory_scaling = 1.5, .core_scaling = 2}),
            (std::vector<hami::RegisteredDevice>{
                {.id = kFirst, .count = 5, .devmem = 1500, .devcore = 200}}));
}

}  // namespace
}  // namespace tessera
