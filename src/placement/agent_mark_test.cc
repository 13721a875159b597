// SPDX-License-Identifier: Apache-2.0
#include "placement/agent_mark.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(AgentMarkTest, IsReadAsItIsWritten) {
  EXPECT_EQ(WriteAgentMark({.version = "0.1.0", .late_bound = true}), "0.1.0 late-bound");
  EXPECT_EQ(WriteAgentMark({.version = "0.1.0"}), "0.1.0");
  EXPECT_EQ(WriteAgentMark({.version = "0.1.0", .fits_unplaced = true}), "0.1.0 fits-unplaced");
  EXPECT_EQ(ReadAgentMark("0.1.0 late-bound fits-unplaced"),
            (AgentMark{.version = "0.1.0", .late_bound = true, .fits_unplaced = true}));
  EXPECT_EQ(ReadAgentMark("0.1.0 late-bound"), (AgentMark{.version = "0.1.0", .late_bound = true}));
  EXPECT_EQ(ReadAgentMark("0.1.0"), AgentMark{.version = "0.1.0"});
}

TEST(AgentMarkTest, WordsOfLaterAgentsArePassedOver) {
  EXPECT_EQ(ReadAgentMark("9.0.0 partitions late-bound"),
            (AgentMark{.version = "9.0.0", .late_bound = true}));
  EXPECT_EQ(ReadAgentMark(""), AgentMark());
  EXPECT_EQ(ReadAgentMark("late-bound"), AgentMark{.version = "late-bound"});
}

}  // namespace
}  // namespace tessera
