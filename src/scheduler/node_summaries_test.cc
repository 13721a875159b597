// SPDX-License-Identifier: Apache-2.0
#include "scheduler/node_summaries.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace tessera::scheduler {
namespace {

TEST(NodeSummariesTest, WithoutNodesNoneIsFound) {
  const NodeSummaries summaries;
  EXPECT_EQ(summaries.Find("a"), nullptr);
  EXPECT_EQ(summaries.size(), 0U);
}

TEST(NodeSummariesTest, TheyHoldWhatAMapHoldsWhateverIsDoneInWhateverOrder) {
  NodeSummaries summaries;
  std::map<std::string, NodeSummary> expected;
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same each time
  for (int step = 0; step < 20'000; ++step) {
    const std::string name = "node-" + std::to_string(random() % 300);
    if (random() % 3 == 0) {
      summaries.Erase(name);
      expected.erase(name);
    } else {
      const NodeSummary summary{.fullness = 1, .most_free = step};
      summaries.Put(name, summary);
      expected[name] = summary;
    }
    ASSERT_EQ(summaries.size(), expected.size()) << step;
  }
  for (int i = 0; i < 300; ++i) {
    const std::string name = "node-" + std::to_string(i);
    const NodeSummary* found = summaries.Find(name);
    ASSERT_EQ(found != nullptr, expected.contains(name)) << name;
    if (found != nullptr) {
      EXPECT_EQ(*found, expected[name]) << name;
    }
  }
}

}  // namespace
}  // namespace tessera::scheduler
