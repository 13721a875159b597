// SPDX-License-Identifier: Apache-2.0
#include "cli/control.h"

#include "cli/commands.h"
#include "cli/fake_agent_test.h"

namespace tessera::cli {
namespace {

using ControlTest = FakeAgentTest;

TEST_F(ControlTest, AbsentAgentIsSaidWithWhatToDo) {
  Run(ExplainCommand());

  EXPECT_EQ(code_, kFailed);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(err_, "tessera: no agent answers: cannot connect to " + Socket() +
                      ": No such file or directory [agent-absent]: start 'tessera agent'; if it "
                      "runs, name its control socket with --control or TESSERA_CONTROL_SOCKET\n");
}

TEST_F(ControlTest, RefusalOfTheAgentIsPassedOn) {
  Error error{Reason::kNotFound, "no device 99"};
  Serve(http::Failure(error));
  arguments_.Set("NAME", "99");

  Run(ExplainCommand());

  EXPECT_EQ(code_, kFailed);
  EXPECT_EQ(err_, "tessera: " + error.Text() + "\n");
  EXPECT_EQ(asked_, "GET /explain device=99 \n");
}

TEST_F(ControlTest, CdiDocumentsStandUnderTheirPaths) {
  json::Value document = json::Parse(R"({"cdiVersion": "0.5.0"})").value();
  json::Object entry{{"path", "/var/run/cdi/tessera-dummy.com_npu.json"},
                     {"resource", "dummy.com/npu"},
                     {"document", document}};
  Serve(http::Json(json::Object{{"documents", json::Array{entry}}}));
  arguments_.Set("output", "text");

  Run(CdiCommand());

  EXPECT_EQ(out_, "/var/run/cdi/tessera-dummy.com_npu.json (dummy.com/npu):\n" +
                      json::WritePretty(document));
}

TEST_F(ControlTest, ResourcesWithACdiStrategyAndNoDocumentAreSaid) {
  Serve(http::Json(json::Object{
      {"documents", json::Array{}},
      {"resources",
       json::Array{
           json::Object{{"resource", "a.com/npu"}, {"kind", "a.com/npu"}, {"write", false}},
           json::Object{{"resource", "b.com/npu"}, {"kind", "b.com/npu"}, {"write", true}}}}}));
  arguments_.Set("output", "text");

  Run(CdiCommand());

  EXPECT_EQ(out_,
            "a.com/npu: another program writes the CDI document of a.com/npu ('write: false'); "
            "'tessera cdi list' shows what there is\n"
            "b.com/npu: the agent has not written the CDI document of b.com/npu yet\n");
}

TEST_F(ControlTest, NoCdiDocumentsAreSaid) {
  Serve(http::Json(json::Object{{"documents", json::Array{}}}));
  arguments_.Set("output", "text");

  Run(CdiCommand());

  EXPECT_EQ(out_, "no resource uses CDI: none has a CDI strategy in its configuration\n");
}

}  // namespace
}  // namespace tessera::cli
