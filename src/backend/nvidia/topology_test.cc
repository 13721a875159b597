// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/topology.h"

#include <gtest/gtest.h>

#include "backend/nvidia/gpu.h"
#include "backend/nvidia/nvidia.h"
#include "choose/choose.h"
#include "nvml/nvidia_node.h"

namespace tessera::nvidia {
namespace {

class TopologyTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  // The GPUs' indices of an answer, or of what is asked for.
  std::vector<unsigned> Choose(const std::string& hardware, size_t size,
                               const std::vector<unsigned>& available) {
    const NvidiaNode node(directory_, hardware);
    NvidiaBackend backend("nvidia.com/gpu", {}, os::Root(directory_));
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
    for (unsigned index : available) ids.push_back(node.hardware().gpus[index].uuid);
    std::vector<unsigned> answer;
    for (const std::string& id : tessera::Choose(
             offer, {.available = ids, .must_include = {}, .size = static_cast<int>(size)})) {
      answer.push_back(indices.at(id));
    }
    std::sort(answer.begin(), answer.end());
    return answer;
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
  // What is left of a pair does not break another.
  EXPECT_EQ(Choose("8xv100", 1, {0, 3, 5}), (Indices{5}));
}

}  // namespace
}  // namespace tessera::nvidia
