// SPDX-License-Identifier: Apache-2.0
#include "scheduler/node_facts.h"

#include <gtest/gtest.h>

#include <set>

#include "hami/node_register.h"
#include "scheduler/cluster.h"

namespace tessera::scheduler {
namespace {

std::vector<CandidateDevice> DevicesOf(const std::vector<int32_t>& memory) {
  std::vector<CandidateDevice> devices(memory.size());
  for (size_t i = 0; i < memory.size(); ++i) devices[i].capacity.memory = memory[i];
  return devices;
}

const AgentMark kFits{.version = "1", .fits_unplaced = true};

TEST(NodeFacts, HaveTheLargestOfAllNodes) {
  NodeFacts facts;
  EXPECT_EQ(facts.All()->MostOf(0).memory, 0);
  EXPECT_EQ(facts.All()->MostOf(0).on_node, 0);
  facts.Put("a", DevicesOf({8000, 40'000}), 0, {});
  facts.Put("b", DevicesOf({8000, 8000, 8000}), 0, {});
  EXPECT_EQ(facts.All()->MostOf(0).memory, 40'000);
  EXPECT_EQ(facts.All()->MostOf(0).on_node, 3);
}

TEST(NodeFacts, ANodeThatIsGoneOrHasLessCountsNoMore) {
  NodeFacts facts;
  facts.Put("a", DevicesOf({40'000}), 0, {});
  facts.Put("b", DevicesOf({8000, 8000}), 0, {});
  facts.Remove("a");
  EXPECT_EQ(facts.All()->MostOf(0).memory, 8000);
  facts.Put("b", {}, 0, {});
  EXPECT_EQ(facts.All()->MostOf(0).memory, 0);
  EXPECT_EQ(facts.All()->MostOf(0).on_node, 0);
}

TEST(NodeFacts, AreKeptForEachKindOfDevices) {
  NodeFacts facts;
  std::vector<CandidateDevice> other = DevicesOf({2000, 1000});
  for (CandidateDevice& device : other) device.kind = 2;
  facts.Put("a", DevicesOf({8000}), 0, {});
  facts.Put("b", other, 4, {});
  EXPECT_EQ(facts.All()->MostOf(0), (webhook::MostDevices{.memory = 8000, .on_node = 4}));
  EXPECT_EQ(facts.All()->MostOf(1), webhook::MostDevices());
  EXPECT_EQ(facts.All()->MostOf(2), (webhook::MostDevices{.memory = 2000, .on_node = 2}));
  EXPECT_EQ(facts.All()->MostOf(3), webhook::MostDevices());
}

TEST(NodeFacts, NameTheNodesWhoseAgentsFitWhatNoSchedulerHasPlaced) {
  NodeFacts facts;
  facts.Put("a", {}, 0, kFits);
  facts.Put("b", DevicesOf({8000}), 0, kFits);
  facts.Put("c", DevicesOf({8000}), 0, {});
  EXPECT_EQ(facts.All()->fitting_unplaced, (std::set<std::string, std::less<>>{"a", "b"}));
  facts.Put("b", DevicesOf({8000}), 0, {});
  EXPECT_EQ(facts.All()->fitting_unplaced, (std::set<std::string, std::less<>>{"a"}));
}

TEST(NodeFacts, AreAddedUpAnewOnlyWhereSomethingChanged) {
  NodeFacts facts;
  facts.Put("a", DevicesOf({8000}), 0, kFits);
  const auto before = facts.All();
  facts.Put("a", DevicesOf({8000}), 0, kFits);
  facts.Put("without devices", {}, 0, {});
  facts.Remove("unknown");
  EXPECT_EQ(facts.All(), before);
  facts.Put("a", DevicesOf({9000}), 0, kFits);
  EXPECT_NE(facts.All(), before);
  EXPECT_EQ(before->MostOf(0).memory, 8000);  // earlier facts stay readable
}

TEST(NodeFacts, AreOfTheClustersNodes) {
  Cluster cluster({hami::ServedVendor()}, {});
  const std::vector<hami::RegisteredDevice> gpus{
      {.id = "GPU-a", .count = 10, .devmem = 8000, .devcore = 100, .type = "A", .health = true}};
  cluster.PutNode(
      {.name = "a",
       .annotations = {{std::string(hami::kNvidia.node_register), hami::EncodeRegister(gpus)},
                       {std::string(kAgentMark), WriteAgentMark(kFits)}}});
  EXPECT_EQ(cluster.Facts()->MostOf(0).memory, 8000);
  EXPECT_EQ(cluster.Facts()->MostOf(0).on_node, 1);
  EXPECT_TRUE(cluster.Facts()->fitting_unplaced.contains("a"));
  cluster.RemoveNode("a");
  EXPECT_EQ(cluster.Facts()->MostOf(0).memory, 0);
  EXPECT_TRUE(cluster.Facts()->fitting_unplaced.empty());
}

}  // namespace
}  // namespace tessera::scheduler
