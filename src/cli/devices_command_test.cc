// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/fake_agent_test.h"

namespace tessera::cli {
namespace {

using DevicesCommandTest = FakeAgentTest;

TEST_F(DevicesCommandTest, DevicesAsJsonAreTheAgentsDocument) {
  Serve(http::Json(json::Object{{"node", "worker-1"}}));
  arguments_.Set("output", "json");

  Run(DevicesCommand());

  EXPECT_EQ(code_, kOk);
  EXPECT_EQ(json::Parse(out_).value(), json::Value(json::Object{{"node", "worker-1"}}));
  EXPECT_EQ(asked_, "GET /inventory \nGET /grants \n");
}

TEST_F(DevicesCommandTest, DevicesAsYaml) {
  Serve(http::Json(json::Object{{"node", "worker-1"}}));
  arguments_.Set("output", "yaml");

  Run(DevicesCommand());

  EXPECT_EQ(out_, "node: worker-1\n");
}

TEST_F(DevicesCommandTest, DevicesAsTableAsksForTheLedgerToo) {
  Serve(http::Json(json::Object{{"node", "worker-1"}}));
  arguments_.Set("output", "table");

  Run(DevicesCommand());

  EXPECT_EQ(code_, kOk);
  EXPECT_EQ(out_,
            "node worker-1, agent , inventory \n\nno resources are configured\n\n0 devices\n");
  EXPECT_EQ(asked_, "GET /inventory \nGET /grants \nGET /ledger \n");
}

TEST_F(DevicesCommandTest, CordonSendsTheReason) {
  Serve(http::Json(json::Object{}));
  arguments_.Set("DEVICE", "dummy.com/npu/7");
  arguments_.Set("reason", "fan is \"loud\"");

  Run(DevicesCommand().commands[0]);

  EXPECT_EQ(code_, kOk);
  EXPECT_EQ(out_,
            "dummy.com/npu/7 is cordoned: pods that hold it keep it, and no other pod gets it\n");
  EXPECT_EQ(asked_,
            "POST /cordon {\"device\":\"dummy.com/npu/7\",\"reason\":\"fan is \\\"loud\\\"\"}\n");
}

TEST_F(DevicesCommandTest, UncordonSaysWhichDeviceWasMeant) {
  Serve(http::Json(json::Object{{"device", "dummy.com/npu/7"}}));
  arguments_.Set("DEVICE", "7");

  Run(DevicesCommand().commands[1]);

  EXPECT_EQ(out_, "dummy.com/npu/7 is uncordoned: the agent offers it while its checks pass\n");
  EXPECT_EQ(asked_, "POST /uncordon {\"device\":\"7\"}\n");
}

}  // namespace
}  // namespace tessera::cli
