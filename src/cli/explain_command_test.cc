// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/fake_agent_test.h"

namespace tessera::cli {
namespace {

using ExplainCommandTest = FakeAgentTest;

TEST_F(ExplainCommandTest, ADeviceIsAskedForByItsName) {
  Serve(http::Json(json::Object{{"candidates", json::Array()}}));
  arguments_.Set("NAME", "dummy.com/npu/7");
  Run(ExplainCommand());
  EXPECT_EQ(out_, "no devices were found\n");
  EXPECT_EQ(asked_, "GET /explain device=dummy.com/npu/7 \n");
}

TEST_F(ExplainCommandTest, APodIsAskedForByItsNamespaceAndName) {
  Serve(http::Json(json::Object{{"pod", "default/train-0"}}));
  arguments_.Set("NAME", "default/train-0");
  arguments_.Set("output", "json");
  Run(ExplainCommand());
  EXPECT_EQ(out_, "{\n  \"pod\": \"default/train-0\"\n}\n");
  EXPECT_EQ(asked_, "GET /explain pod=default/train-0 \n");
}

TEST_F(ExplainCommandTest, APodThatNobodyKnowsIsAFailureThatSaysWhereItMayBe) {
  Serve(http::Failure({Reason::kNotFound, "node n: nobody has told of it"}));
  arguments_.Set("NAME", "default/train-0");
  Run(ExplainCommand());
  EXPECT_EQ(code_, kFailed);
  const Error unknown{Reason::kNotFound, "node n: nobody has told of it"};
  EXPECT_EQ(err_, "tessera: " + unknown.Text() + "\n");
}

}  // namespace
}  // namespace tessera::cli
