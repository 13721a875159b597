// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/fake_agent_test.h"

namespace tessera::cli {
namespace {

using HealthCommandTest = FakeAgentTest;

TEST_F(HealthCommandTest, AnAgentThatAnswersIsAliveWhateverIsInItsWay) {
  Serve(http::Text("ok\nstate: cannot write /s: No space left on device [io]: look at the path\n"));

  Run(HealthCommand());

  EXPECT_EQ(code_, kOk);
  EXPECT_EQ(out_, "ok\nstate: cannot write /s: No space left on device [io]: look at the path\n");
  EXPECT_EQ(asked_, "GET /healthz \n");
}

TEST_F(HealthCommandTest, OneThatDoesNotIsNot) {
  Run(HealthCommand());

  EXPECT_EQ(code_, kFailed);
  EXPECT_EQ(out_, "");
  EXPECT_TRUE(err_.find("no agent answers") != err_.npos) << err_;
}

}  // namespace
}  // namespace tessera::cli
