// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/fake_agent_test.h"

namespace tessera::cli {
namespace {

class ReleaseCommandTest : public FakeAgentTest {
 protected:
  // As the parser leaves them.
  ReleaseCommandTest() { arguments_.Set("for", "10m"); }
};

TEST_F(ReleaseCommandTest, AReleaseSaysOfWhatAndUntilWhen) {
  Serve(http::Json(json::Parse(R"({"until": "2026-11-22T06:10:00.000Z",
                                   "resources": ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb"],
                                   "heldBy": []})")
                       .value()));

  Run(ReleaseCommand());

  EXPECT_EQ(code_, kOk) << err_;
  EXPECT_EQ(out_,
            "released until 2026-11-22T06:10:00.000Z: nvidia.com/gpu, nvidia.com/mig-1g.10gb\n"
            "the library is closed; 'tessera release --end' opens it again\n");
  EXPECT_EQ(asked_, "POST /release {\"for\":\"10m\"}\n");
}

TEST_F(ReleaseCommandTest, TheEndIsAnOrderOfItsOwn) {
  Serve(http::Json(json::Object{}));
  arguments_.Set("end", "");

  Run(ReleaseCommand());

  EXPECT_EQ(out_,
            "the release has ended: the agent offers devices once their checks have passed\n");
  EXPECT_EQ(asked_, "POST /release {\"end\":true}\n");
}

TEST_F(ReleaseCommandTest, ARefusalIsPassedOn) {
  const Error error{Reason::kNotFound, "no resource of this node holds a vendor's library"};
  Serve(http::Failure(error));

  Run(ReleaseCommand());

  EXPECT_EQ(code_, kFailed);
  EXPECT_EQ(err_, "tessera: " + error.Text() + "\n");
}

}  // namespace
}  // namespace tessera::cli
