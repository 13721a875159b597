// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/agent_calls.h"

#include <gtest/gtest.h>

namespace tessera::demo {
namespace {

TEST(ReadLedger, HoldingsAreRead) {
  const auto holdings = ReadLedger(
      R"({"reconciled":true,"holdings":[{"namespace":"default","pod":"p","uid":"u",)"
      R"("container":"main","resource":"dummy.com/npu","shares":["0","1"]}],"pending":[]})");
  ASSERT_TRUE(holdings);
  EXPECT_EQ(*holdings, std::vector<Holding>({{.pod_namespace = "default",
                                              .pod = "p",
                                              .pod_uid = "u",
                                              .container = "main",
                                              .resource = "dummy.com/npu",
                                              .share_ids = {"0", "1"}}}));
}

TEST(ReadInventory, JudgementsAreRead) {
  const auto judgements =
      ReadInventory(R"({"devices":[{"source":"dummy.com/npu","id":"7","state":"suspect",)"
                    R"("reason":"check-failed","cordon":null},)"
                    R"({"source":"dummy.com/npu","id":"8","state":"healthy","reason":"cordoned",)"
                    R"("cordon":{"reason":"loud"}}]})");
  ASSERT_TRUE(judgements);
  EXPECT_EQ(*judgements, (Judgements{{{"dummy.com/npu", "7"}, {"suspect", "check-failed", false}},
                                     {{"dummy.com/npu", "8"}, {"healthy", "cordoned", true}}}));
}

TEST(ReadInventory, OtherDocumentIsInvalid) {
  EXPECT_EQ(ReadInventory("[]").error(),
            (Error{Reason::kInvalid, "the agent's answer has no list 'devices'"}));
}

}  // namespace
}  // namespace tessera::demo
