// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/core/topology.h"

#include <gtest/gtest.h>

#include "backend/nvidia/core/gpu.h"
#include "backend/nvidia/nvidia.h"
#include "choose/choose.h"
#include "nvml/nvidia_node.h"

namespace tessera::nvidia {
namespace {

class TopologyTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  // The indices of the GPUs that are available, or chosen.
  std::vector<unsigned> Choose(const std::string& hardware, size_t size,
                               const std::vector<unsigned>& available) {
    const NvidiaNode node(directory_, hardware);
    NvidiaBackend backend("nvidia.com/gpu", {}, os::Root(directory_));
    return Choose(backend, size, available);
  }
  // The choice of a backend after a new scan.
  static std::vector<unsigned> Choose(NvidiaBackend& backend, size_t size,
                                      const std::vector<unsigned>& available) {
    Inventory inventory;
    std::map<std::string, unsigned> indices;
    const std::vector<Device> devices = backend.Scan().value();
    for (const Device& device : devices) {
      indices[device.key.id] = static_cast<unsigned>(indices.size());
      inventory.devices.push_back(device);
    }
    inventory.devices.SortUnique();
    const Offer offer = Divide("nvidia.com/gpu", {}, inventory, "nvidia.com/gpu",
                               [](const Device&) { return std::optional<Error>(); });
    std::vector<std::string> ids;
    for (unsigned index : available) ids.push_back(devices[index].key.id);
    std::vector<unsigned> answer;
    for (const std::string& id : tessera::Choose(
             offer, {.available = ids, .must_include = {}, .size = static_cast<int>(size)})) {
      answer.push_back(indices.at(id));
    }
    std::sort(answer.begin(), answer.end());
    return answer;
  }
  // The points of a GPU's links, by UUID, after a new scan.
  static std::map<std::string, int> PointsOf(NvidiaBackend& backend, size_t gpu) {
    const std::vector<Device> devices = backend.Scan().value();
    std::map<std::string, int> points;
    for (const Link& link : devices[gpu].links) points[link.peer] = link.points;
    return points;
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/topology_test").value();
};

using Indices = std::vector<unsigned>;

TEST_F(TopologyTest, NvLinksAreCountedByTheirOtherEnd) {
  NvidiaNode node(directory_, "8xv100");
  nvml::Session session(nvml::LibraryPaths(os::Root(directory_), "/"));
  const nvml::LibraryPtr library = session.Open().value();
  const NvLinks links = ReadNvLinks(*library, library->DeviceByIndex(0).value());

  EXPECT_EQ(links, (NvLinks{.to_gpus = {{"0000:07:00.0", 1},
                                        {"0000:0a:00.0", 1},
                                        {"0000:0b:00.0", 2},
                                        {"0000:85:00.0", 2}}}));
  node.SetFaults("gpus: {0: {links-down: [0]}}");
  EXPECT_FALSE(
      ReadNvLinks(*library, library->DeviceByIndex(0).value()).to_gpus.contains("0000:07:00.0"));
}

TEST_F(TopologyTest, ALinkToASwitchReachesEveryGpuBehindIt) {
  const NvidiaNode node(directory_, "8xa100");
  NvidiaBackend backend("nvidia.com/gpu", {}, os::Root(directory_));

  const std::vector<Device> devices = backend.Scan().value();

  ASSERT_EQ(devices[0].links.size(), 7U);
  std::map<std::string, int> points;
  for (const Link& link : devices[0].links) points[link.peer] = link.points;
  EXPECT_EQ(points[devices[1].key.id], 1240);  // 12 NVLinks, several PCIe switches
  EXPECT_EQ(points[devices[7].key.id], 1210);  // 12 NVLinks, another NUMA node
}

// The links of a GPU at "b" to one at "a": this many NVLinks, and this level.
std::vector<Link> LinksBetween(int nvlinks, nvml::TopologyLevel level) {
  const Gpu a{.index = 0, .uuid = "A", .pci = "a"};
  const Gpu b{.index = 1, .uuid = "B", .pci = "b", .nvlinks = {.to_gpus = {{"a", nvlinks}}}};
  return LinksOf(b, {{0, a}, {1, b}}, {{"A", level}});
}

TEST(Links, WhatTwoGpusHaveInCommonHasItsPoints) {
  using nvml::TopologyLevel;
  const std::pair<TopologyLevel, int> cases[] = {
      {TopologyLevel::kInternal, 60}, {TopologyLevel::kSingle, 50},
      {TopologyLevel::kMultiple, 40}, {TopologyLevel::kHostBridge, 30},
      {TopologyLevel::kNode, 20},     {TopologyLevel::kSystem, 10},
  };
  for (const auto& [level, points] : cases) {
    EXPECT_EQ(LinksBetween(0, level), (std::vector<Link>{{"A", points}}));
  }
  EXPECT_EQ(LinksBetween(0, static_cast<TopologyLevel>(70)), std::vector<Link>());
}

TEST(Links, EighteenNvLinksOfAPairCountAndNoMore) {
  using nvml::TopologyLevel;
  EXPECT_EQ(LinksBetween(1, TopologyLevel::kSystem), (std::vector<Link>{{"A", 110}}));
  EXPECT_EQ(LinksBetween(18, TopologyLevel::kSystem), (std::vector<Link>{{"A", 1810}}));
  EXPECT_EQ(LinksBetween(19, TopologyLevel::kSystem), (std::vector<Link>{{"A", 1810}}));
  EXPECT_EQ(LinksBetween(36, TopologyLevel::kInternal), (std::vector<Link>{{"A", 1860}}));
}

TEST_F(TopologyTest, AGpuWithoutNeighboursHasNoLinks) {
  const NvidiaNode node(directory_, "1xt4");
  NvidiaBackend backend("nvidia.com/gpu", {}, os::Root(directory_));

  EXPECT_EQ(backend.Scan().value()[0].links, std::vector<Link>());
}

TEST_F(TopologyTest, AGpuThatHangsCostsTheOthersNoLinks) {
  NvidiaNode node(directory_, "8xa100");
  node.SetFaults("gpus: {3: {hang: all}}");
  NvidiaBackend backend("nvidia.com/gpu", {}, os::Root(directory_));

  const std::vector<Device> devices = backend.Scan().value();

  EXPECT_EQ(devices[0].links.size(), 6U);
  EXPECT_TRUE(devices[3].links.empty());
  node.SetFaults("");
}

TEST_F(TopologyTest, APairAndAQuadShareTheirNvLinks) {
  const Indices all = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(Choose("8xv100", 2, all), (Indices{2, 3}));
  EXPECT_EQ(Choose("8xv100", 4, all), (Indices{0, 1, 2, 3}));
  // A single GPU comes from a pair that is broken already.
  EXPECT_EQ(Choose("8xv100", 1, {0, 3, 5}), (Indices{5}));
}

// Chooses `count` of four GPUs near one NUMA node, without NVLinks. The second and the fourth share
// a PCIe switch.
std::string OnOneNumaNode(size_t count) {
  std::string yaml =
      "driver: \"570.172.08\"\n"
      "defaults: {model: NVIDIA L4, memory: 23034, compute: \"8.9\", numa: 0}\n"
      "gpus:\n";
  const char* pcie[] = {"root0, switch0", "root1, switch1", "root2, switch2", "root1, switch1"};
  for (size_t i = 0; i < count; ++i) {
    yaml += fmt::format("- {{pci: \"0000:0{}:00.0\", pcie: [{}]}}\n", i + 1, pcie[i]);
  }
  return yaml;
}

TEST_F(TopologyTest, WithoutNvLinksAPcieSwitchCountsForMoreThanANumaNode) {
  NvidiaNode node(directory_, "1xt4");
  node.SetHardware(OnOneNumaNode(4));
  NvidiaBackend backend("nvidia.com/gpu", {}, os::Root(directory_));

  EXPECT_EQ(Choose(backend, 2, {0, 1, 2, 3}), (Indices{1, 3}));
  EXPECT_EQ(Choose(backend, 2, {0, 1, 2}), (Indices{0, 1}));
}

TEST_F(TopologyTest, AGpuThatComesIsChosenWhereItIsTheNearest) {
  NvidiaNode node(directory_, "1xt4");
  node.SetHardware(OnOneNumaNode(3));
  NvidiaBackend backend("nvidia.com/gpu", {}, os::Root(directory_));
  EXPECT_EQ(Choose(backend, 2, {0, 1, 2}), (Indices{0, 1}));

  node.SetHardware(OnOneNumaNode(4));

  EXPECT_EQ(Choose(backend, 2, {0, 1, 2, 3}), (Indices{1, 3}));
  const auto& gpus = node.hardware().gpus;
  EXPECT_EQ(PointsOf(backend, 1), (std::map<std::string, int>{
                                      {gpus[0].uuid, 20}, {gpus[2].uuid, 20}, {gpus[3].uuid, 50}}));
}

TEST_F(TopologyTest, NvLinksThatGoDownCountNoMoreAndAnotherPairIsChosen) {
  NvidiaNode node(directory_, "8xv100");
  NvidiaBackend backend("nvidia.com/gpu", {}, os::Root(directory_));
  const Indices some = {2, 3, 6};
  ASSERT_EQ(Choose(backend, 2, some), (Indices{2, 3}));

  // The links between GPUs 2 and 3, at both ends.
  node.SetFaults("gpus: {2: {links-down: [3, 4]}, 3: {links-down: [3, 4]}}");

  EXPECT_EQ(Choose(backend, 2, some), (Indices{2, 6}));
  std::map<std::string, int> points = PointsOf(backend, 2);
  EXPECT_EQ(points[node.hardware().gpus[3].uuid], 50);   // the PCIe switch is left
  EXPECT_EQ(points[node.hardware().gpus[6].uuid], 110);  // one NVLink, another NUMA node
  node.SetFaults("");
  EXPECT_EQ(Choose(backend, 2, some), (Indices{2, 3}));
}

}  // namespace
}  // namespace tessera::nvidia
