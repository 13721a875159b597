// SPDX-License-Identifier: Apache-2.0
#include "hami/pod_placement.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "placement/placement_under_test.h"

namespace tessera::hami {
namespace {

using Quantities = std::map<std::string, std::string, std::less<>>;

kube::Container App(const std::string& name, const Quantities& limits = {}) {
  return {.name = name, .limits = limits};
}
kube::Container Init(const std::string& name, const Quantities& limits = {}) {
  return {.name = name, .kind = kube::Container::Kind::kInit, .limits = limits};
}
kube::Container Sidecar(const std::string& name, const Quantities& limits = {}) {
  return {.name = name, .kind = kube::Container::Kind::kSidecar, .limits = limits};
}

const Quantities kOne = {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "3000"}};

RequestRules Rules() {
  return RulesOf(std::string(kNvidia.count), kNvidia.Requests());
}

Entry OneOf(const std::string& uuid) {
  return {{uuid, "NVIDIA", 3000, 0}};
}

std::vector<Entry> ByContainer(const std::vector<kube::Container>& containers,
                               std::string_view text) {
  const auto allocated = DecodePodDevices(text);
  EXPECT_TRUE(allocated) << text;
  auto entries = EntriesByContainer(containers, Rules(), kNvidia, *allocated);
  EXPECT_TRUE(entries) << entries.error().message;
  return entries ? *std::move(entries) : std::vector<Entry>();
}

TEST(EntriesByContainer, PlaceholdersOrNoneTheContainerThatAsksGetsTheEntry) {
  const std::vector<kube::Container> containers = {App("web"), App("model", kOne)};
  const std::vector<Entry> expected = {{}, OneOf("GPU-a")};
  EXPECT_EQ(ByContainer(containers, ";GPU-a,NVIDIA,3000,0:;"), expected);
  EXPECT_EQ(ByContainer(containers, "GPU-a,NVIDIA,3000,0:;"), expected);
  EXPECT_EQ(ByContainer(containers, ",,0,0:;GPU-a,NVIDIA,3000,0:;;"), expected);
}

TEST(EntriesByContainer, AnInitContainerThatDoesNotAskGetsNothing) {
  const std::vector<kube::Container> containers = {Init("fetch"), App("model", kOne)};
  const std::vector<Entry> expected = {{}, OneOf("GPU-a")};
  EXPECT_EQ(ByContainer(containers, ";GPU-a,NVIDIA,3000,0:;"), expected);
  EXPECT_EQ(ByContainer(containers, "GPU-a,NVIDIA,3000,0:;"), expected);
}

TEST(EntriesByContainer, InitContainersAndSidecarsComeFirstWhereverTheyAreListed) {
  const std::vector<kube::Container> containers = {App("model", kOne), Init("fetch", kOne),
                                                   Sidecar("watch", kOne)};
  EXPECT_EQ(
      ByContainer(containers, "GPU-a,NVIDIA,3000,0:;GPU-b,NVIDIA,3000,0:;GPU-c,NVIDIA,3000,0:;"),
      (std::vector<Entry>{OneOf("GPU-c"), OneOf("GPU-a"), OneOf("GPU-b")}));
}

TEST(EntriesByContainer, OneThatHamiPassesOverHasNoEntry) {
  const std::vector<kube::Container> containers = {
      App("greedy", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "4Gi"}}), App("model", kOne)};
  EXPECT_EQ(ByContainer(containers, "GPU-a,NVIDIA,3000,0:;"),
            (std::vector<Entry>{{}, OneOf("GPU-a")}));
}

TEST(EntriesByContainer, APodThatAsksForNothingHasNothing) {
  EXPECT_EQ(ByContainer({App("web")}, ""), std::vector<Entry>(1));
  EXPECT_EQ(ByContainer({}, ";"), std::vector<Entry>());
}

TEST(EntriesByContainer, AnErrorSaysWhatDoesNotFit) {
  const auto error = [](const std::vector<kube::Container>& containers, std::string_view text) {
    const auto entries = EntriesByContainer(containers, Rules(), kNvidia, *DecodePodDevices(text));
    return entries ? "" : entries.error().message;
  };
  EXPECT_EQ(error({Init("fetch", kOne), App("model", kOne)}, "GPU-a,NVIDIA,3000,0:;"),
            "hami.io/vgpu-devices-allocated has devices for 1 container, but 2 ask for "
            "nvidia.com/gpu: fetch, model");
  EXPECT_EQ(error({App("model", kOne)}, "GPU-a,NVIDIA,3000,0:;GPU-a,NVIDIA,3000,0:;"),
            "hami.io/vgpu-devices-allocated has devices for 2 containers, but 1 asks for "
            "nvidia.com/gpu: model");
  EXPECT_EQ(error({App("web")}, "GPU-a,NVIDIA,3000,0:;"),
            "hami.io/vgpu-devices-allocated has devices for 1 container, but 0 ask for "
            "nvidia.com/gpu");
}

TEST(EntriesByContainer, EveryRandomPodFindsItsOwnWithAndWithoutPlaceholders) {
  std::mt19937 random(6);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<kube::Container> containers(1 + random() % 6);
    std::vector<Entry> expected(containers.size());
    for (size_t i = 0; i < containers.size(); ++i) {
      containers[i] = {.name = std::to_string(i),
                       .kind = static_cast<kube::Container::Kind>(random() % 3)};
    }
    std::ranges::stable_partition(containers, [](const kube::Container& one) {
      return one.kind != kube::Container::Kind::kApp;
    });
    for (size_t i = 0; i < containers.size(); ++i) {
      if (random() % 2 == 0) continue;
      containers[i].limits = kOne;
      expected[i] = OneOf("GPU-" + std::to_string(i));
    }
    std::vector<Entry> allocated = expected;
    ASSERT_EQ(EntriesByContainer(containers, Rules(), kNvidia, allocated), expected);
    std::erase_if(allocated, [&](const Entry& one) { return one.empty() && random() % 2 == 0; });
    ASSERT_EQ(EntriesByContainer(containers, Rules(), kNvidia, allocated), expected);
    allocated.push_back(OneOf("GPU-forged"));
    ASSERT_FALSE(EntriesByContainer(containers, Rules(), kNvidia, allocated));
  }
}

kube::Pod PlacedPod(std::vector<kube::Container> containers, const std::string& allocated) {
  kube::Pod pod = PodWith(std::move(containers));
  if (!allocated.empty()) {
    pod.annotations["hami.io/vgpu-devices-allocated"] = allocated;
    pod.annotations["hami.io/vgpu-node"] = "worker-1";
  }
  return pod;
}

std::string Chosen(const std::string& uuid, int memory, int cores) {
  return fmt::format("{},NVIDIA,{},{}:", uuid, memory, cores);
}

std::string Read(const kube::Pod& pod) {
  return PlacementText(ReadPlacement(pod, kNvidia, Rules(), TwoCapacities()));
}

TEST(PodPlacementTest, WhatTheSchedulerChoseBelongsToTheContainersThatAskInTheirOrder) {
  const auto pod = PlacedPod(
      {Asking("prepare", 1, 1000, kube::Container::Kind::kInit), Asking("beside", 0, 0),
       Asking("main", 2, 3000)},
      Chosen(kSecond, 1000, 30) + ";" + Chosen(kFirst, 3000, 30) + Chosen(kSecond, 2000, 20) + ";");
  EXPECT_EQ(Read(pod),
            fmt::format("prepare: {1}=1000:30;main: {0}=3000:30,{1}=2000:20;", kFirst, kSecond));
}

TEST(PodPlacementTest, APodThatNobodyPlacedHasNone) {
  EXPECT_EQ(Read(PlacedPod({Asking("main", 1, 3000)}, "")),
            "not-placed: pod team/train: no scheduler has chosen GPUs for it: it has no annotation "
            "hami.io/vgpu-devices-allocated");
}

TEST(PodPlacementTest, WhatWasChosenOnAnotherNodeIsNotTaken) {
  auto pod = PlacedPod({Asking("main", 1, 3000)}, Chosen(kFirst, 3000, 30) + ";");
  pod.annotations["hami.io/vgpu-node"] = "worker-2";
  EXPECT_EQ(
      Read(pod),
      "not-placed: pod team/train: its GPUs were chosen for node worker-2, but it runs on node "
      "worker-1: hami.io/vgpu-node");
}

TEST(PodPlacementTest, MoreThanTheContainerAsksForIsNotTaken) {
  const std::string prefix =
      "bad-decision: pod team/train, container main: its placement does not match its request: ";
  const std::vector<kube::Container> containers = {Asking("main", 1, 3000)};
  EXPECT_EQ(Read(PlacedPod(containers, Chosen(kFirst, 3001, 30) + ";")),
            prefix + "3001 MiB of " + kFirst + ", where the container asks for 3000");
  EXPECT_EQ(Read(PlacedPod(containers, Chosen(kFirst, 3000, 31) + ";")),
            prefix + "31 % of the cores of " + kFirst + ", where the container asks for 30");
  EXPECT_EQ(Read(PlacedPod(containers, Chosen("GPU-others", 3000, 30) + ";")),
            prefix + "GPU-others is not a card of this node");
  EXPECT_EQ(Read(PlacedPod(containers, Chosen(kFirst, 1, 1) + Chosen(kSecond, 1, 1) + ";")),
            prefix + "2 devices, where the container asks for 1");
}

TEST(PodPlacementTest, WhatCannotBeReadIsNotGuessed) {
  EXPECT_EQ(Read(PlacedPod({Asking("main", 1, 3000)}, "GPU-1,NVIDIA:;")),
            "bad-decision: pod team/train: its placement does not match its request: a pod's "
            "devices: device GPU-1,NVIDIA: it has 2 fields, not 4");
}

TEST(PodPlacementTest, ByAPodOfWhichSomethingIsOverItsBoundNothingIsDecided) {
  auto pod = PlacedPod({Asking("main", 1, 3000)}, Chosen(kFirst, 3000, 30) + ";");
  pod.excess = "annotations: hami.io/x has 250000 bytes, at most 32768 are read";

  EXPECT_EQ(Read(pod),
            "bad-decision: pod team/train: its placement does not match its request: "
            "annotations: hami.io/x has 250000 bytes, at most 32768 are read");
}

TEST(PodPlacementTest, AContainerGoesWithoutTheLibraryByItsOwnWord) {
  auto pod = PlacedPod({Asking("main", 1, 3000), Asking("beside", 1, 3000)}, "");
  pod.containers[0].variables["CUDA_DISABLE_CONTROL"] = "true";
  EXPECT_TRUE(WantsNoControl(pod, "main"));
  EXPECT_FALSE(WantsNoControl(pod, "beside"));
  EXPECT_FALSE(WantsNoControl(pod, "nobody"));
}

}  // namespace
}  // namespace tessera::hami
