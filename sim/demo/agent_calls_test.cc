// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/agent_calls.h"

#include <gtest/gtest.h>

#include "backend/dummy/faults.h"
#include "os/files.h"

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

TEST(WriteFault, FaultsAddUpInTheDevicesFile) {
  const std::string state = *os::MakeTemporaryDirectory("/tmp/tessera-test-");
  EXPECT_TRUE(WriteFault(state, {.verb = "fail", .resource = "dummy.com/npu", .device = "3"}));
  EXPECT_TRUE(WriteFault(state, {.verb = "hide", .resource = "dummy.com/npu", .device = "4"}));
  const auto faults = dummy::ParseFaults(*os::ReadFile(state + "/dummy/dummy.com_npu.json"));
  ASSERT_TRUE(faults);
  EXPECT_TRUE(faults->Of("3").fail.has_value());
  EXPECT_TRUE(faults->Of("4").hidden);
  EXPECT_TRUE(os::RemoveTree(state));
}

}  // namespace
}  // namespace tessera::demo
