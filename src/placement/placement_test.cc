// SPDX-License-Identifier: Apache-2.0
#include "placement/placement.h"

#include <gtest/gtest.h>

#include "placement/placement_under_test.h"

namespace tessera {
namespace {

class PlacementTest : public testing::Test {
 protected:
  const RequestRules rules_ = RulesOf(kGpu, {.memory_name = "nvidia.com/gpumem",
                                             .percentage_name = "nvidia.com/gpumem-percentage",
                                             .cores_name = "nvidia.com/gpucores"});
};

TEST_F(PlacementTest, ByAPodOfWhichSomethingIsOverItsBoundNothingIsDecided) {
  auto pod = PodWith({Asking("main", 1, 3000)});
  pod.excess = "annotations: hami.io/x has 250000 bytes, at most 32768 are read";

  EXPECT_EQ(PlacementText(FitPlacement(pod, rules_, TwoCapacities(), {{"main", {kFirst}}})),
            "bad-size: pod team/train: its request cannot be granted: annotations: hami.io/x has "
            "250000 bytes, at most 32768 are read");
}

TEST_F(PlacementTest, WithoutASchedulerItIsWhatTheContainersAskForOnTheCardsThatKubeletChose) {
  const auto pod = PodWith({Asking("main", 2, 3000), Asking("beside", 1, 500)});
  EXPECT_EQ(PlacementText(
                FitPlacement(pod, rules_, TwoCapacities(),
                             {{"main", {std::string(kFirst) + "-0", std::string(kSecond) + "-7"}},
                              {"beside", {std::string(kSecond) + "-1"}}})),
            fmt::format("main: {0}=3000:30,{1}=3000:30;beside: {1}=500:30;", kFirst, kSecond));
}

TEST_F(PlacementTest, WhatAnAnnotationOfThePodAsksForIsRefusedWhereItIsNoSize) {
  auto pod = PodWith({Asking("main", 1, 0)});
  const SharesByContainer shares = {{"main", {std::string(kFirst) + "-0"}}};
  pod.annotations["tessera.dev/gpu-memory"] = "3000";
  EXPECT_EQ(PlacementText(FitPlacement(pod, rules_, TwoCapacities(), shares)),
            fmt::format("main: {}=3000:30;", kFirst));
  pod.annotations["tessera.dev/gpu-memory"] = "3000MB";
  EXPECT_EQ(PlacementText(FitPlacement(pod, rules_, TwoCapacities(), shares)),
            "bad-size: pod team/train, container main: its request cannot be granted: annotation "
            "tessera.dev/gpu-memory is 3000MB: write how many MiB of each GPU, '3000', or a size "
            "with its unit, '3000Mi' or '3Gi'");
}

TEST_F(PlacementTest, SharesOfOneCardAddUp) {
  const auto pod = PodWith({Asking("main", 4, 1500)});
  const std::string card = kFirst;
  EXPECT_EQ(
      PlacementText(FitPlacement(pod, rules_, TwoCapacities(),
                                 {{"main", {card + "-0", card + "-1", card + "-2", card + "-3"}}})),
      "main: " + card + "=6000:100;");
}

TEST_F(PlacementTest, WhatItTakesIsTheMostAtATimeAndNothingAfterItsEnd) {
  const PodPlacement placement = {{"prepare", kube::Container::Kind::kInit, {{kFirst, 5000, 10}}},
                                  {"main", kube::Container::Kind::kApp, {{kFirst, 3000, 30}}}};
  auto pod =
      PodWith({Asking("prepare", 1, 5000, kube::Container::Kind::kInit), Asking("main", 1, 3000)});
  EXPECT_EQ(UsageOfPlacement(placement, nullptr), (UsageByDevice{{kFirst, {1, 5000, 30}}}));
  EXPECT_EQ(UsageOfPlacement(placement, &pod), (UsageByDevice{{kFirst, {1, 5000, 30}}}));
  pod.containers[0].succeeded = true;
  EXPECT_EQ(UsageOfPlacement(placement, &pod), (UsageByDevice{{kFirst, {1, 3000, 30}}}));
  pod.phase = kube::Pod::Phase::kSucceeded;
  EXPECT_EQ(UsageOfPlacement(placement, &pod), UsageByDevice());
}

PlacedContainer AppWith(const std::string& device, int64_t memory, int cores = 0) {
  return {.name = "app", .parts = {{device, memory, cores}}};
}
PlacedContainer InitWith(const std::string& device, int64_t memory, int cores = 0) {
  return {.name = "init", .kind = kube::Container::Kind::kInit, .parts = {{device, memory, cores}}};
}
PlacedContainer SidecarWith(const std::string& device, int64_t memory) {
  return {
      .name = "sidecar", .kind = kube::Container::Kind::kSidecar, .parts = {{device, memory, 0}}};
}

TEST(UsageOf, AppContainersAddUp) {
  EXPECT_EQ(UsageOfPlacement(PodPlacement{AppWith("GPU-a", 3000, 30), AppWith("GPU-a", 1000, 20),
                                          AppWith("GPU-b", 500)},
                             nullptr),
            (UsageByDevice{{"GPU-a", {2, 4000, 50}}, {"GPU-b", {1, 500, 0}}}));
}

TEST(UsageOf, OfInitContainersTheLargestCounts) {
  EXPECT_EQ(UsageOfPlacement(PodPlacement{InitWith("GPU-a", 3000, 10), InitWith("GPU-a", 1000, 90),
                                          AppWith("GPU-a", 2000, 20)},
                             nullptr),
            (UsageByDevice{{"GPU-a", {1, 3000, 90}}}));
  EXPECT_EQ(UsageOfPlacement(PodPlacement{InitWith("GPU-a", 3000, 10), InitWith("GPU-b", 1000, 90),
                                          AppWith("GPU-a", 4000, 20)},
                             nullptr),
            (UsageByDevice{{"GPU-a", {1, 4000, 20}}, {"GPU-b", {1, 1000, 90}}}));
}

TEST(UsageOf, ASidecarCountsWithTheInitContainersBehindItAndWithTheApps) {
  const auto usage = [&](int64_t before, int64_t sidecar, int64_t behind, int64_t app) {
    return UsageOfPlacement(PodPlacement{InitWith("GPU-a", before), SidecarWith("GPU-a", sidecar),
                                         InitWith("GPU-a", behind), AppWith("GPU-a", app)},
                            nullptr);
  };
  EXPECT_EQ(usage(9, 2, 3, 4), (UsageByDevice{{"GPU-a", {2, 9, 0}}}));
  EXPECT_EQ(usage(1, 2, 6, 4), (UsageByDevice{{"GPU-a", {2, 8, 0}}}));
  EXPECT_EQ(usage(1, 2, 3, 4), (UsageByDevice{{"GPU-a", {2, 6, 0}}}));
}

TEST(UsageOf, ThePlaceInTheListDoesNotMatterForAppContainers) {
  EXPECT_EQ(
      UsageOfPlacement(PodPlacement{AppWith("GPU-a", 3000), InitWith("GPU-a", 5000)}, nullptr),
      (UsageByDevice{{"GPU-a", {1, 5000, 0}}}));
}

TEST(UsageOf, NoDevicesAreNoUsage) {
  EXPECT_EQ(UsageOfPlacement(PodPlacement{{.name = "web"}}, nullptr), UsageByDevice());
}

// The capacity of a GPU with so many MiB.
DeviceCapacity Capacity(int64_t memory, double memory_scaling, double core_scaling = 1) {
  return CapacityOf({.key = {kGpu, kFirst}, .memory = memory},
                    {.parts = 5, .memory_scaling = memory_scaling, .core_scaling = core_scaling});
}

TEST(CapacityOf, CountsWhatTheConfigurationMakesOfADevice) {
  EXPECT_EQ(Capacity(1000, 1.5, 2),
            (DeviceCapacity{.device = kFirst, .containers = 5, .memory = 1500, .cores = 200}));
}

TEST(CapacityOf, IsCutOffNotRounded) {
  EXPECT_EQ(Capacity(81'559, 1.8).memory, 146'806);  // 146806.2
  EXPECT_EQ(Capacity(3, 0.5).memory, 1);
  EXPECT_EQ(Capacity(1, 1, 1.8).cores, 180);
  EXPECT_EQ(Capacity(1, 1, 1.15).cores, 114);  // 1.15 * 100 is a little less than 115
}

TEST(CapacityOf, IsNoMoreThanAnAnnotationHolds) {
  EXPECT_EQ(Capacity(INT64_MAX, 1).memory, INT32_MAX);
  EXPECT_EQ(Capacity(81'920, 1e9).memory, INT32_MAX);
  EXPECT_EQ(Capacity(81'920, -1).memory, 0);
  EXPECT_EQ(Capacity(81'920, 1, 0).cores, 0);
}

}  // namespace
}  // namespace tessera
