// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/fake_agent_test.h"
#include "json/json.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera::cli {
namespace {

class CdiCommandTest : public testing::Test {
 protected:
  ~CdiCommandTest() override { (void)os::RemoveTree(directory_); }

  void Containerd(const std::string& text) {
    ASSERT_TRUE(os::MakeDirectories(node_.directory() + "/etc/containerd"));
    ASSERT_TRUE(os::ReplaceFile(node_.directory() + "/etc/containerd/config.toml", text));
  }
  // Runs `tessera cdi generate` for one resource of GPUs without configured strategies.
  void Generate() {
    const std::string file = directory_ + "/tessera.yaml";
    ASSERT_TRUE(os::ReplaceFile(
        file, fmt::format("version: tessera/v1\nrootPrefix: {}\nstate: {{dir: {}}}\n"
                          "resources: [{{name: nvidia.com/gpu, nvidia: {{}}}}]\n",
                          node_.directory(), directory_)));
    Arguments arguments;
    arguments.Set("config", file);
    const Command cdi = CdiCommand();
    const auto generate = std::ranges::find(cdi.commands, "generate", &Command::name);
    ASSERT_NE(generate, cdi.commands.end());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    code_ = generate->run(arguments);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-cli-").value();
  NvidiaNode node_{directory_ + "/node", "1xt4"};
  int code_ = -1;
  std::string out_;
  std::string err_;
};

TEST_F(CdiCommandTest, GenerateWritesWhatTheAgentWouldWhereTheRuntimeReadsCdi) {
  Containerd("version = 3\n");
  Generate();

  EXPECT_EQ(code_, kOk) << err_;
  const auto document = json::Parse(out_);
  ASSERT_TRUE(document) << out_;
  EXPECT_EQ(json::GetString(document->as_object(), "kind"), "k8s.device-plugin.nvidia.com/gpu");
}

TEST_F(CdiCommandTest, GenerateHasNothingWhereTheRuntimeDoesNot) {
  Containerd("version = 2\n");
  Generate();

  EXPECT_EQ(code_, kFailed);
  EXPECT_NE(err_.find("no resource with a CDI strategy has a device here"), std::string::npos)
      << err_;
}

class CdiCheckTest : public FakeAgentTest {
 protected:
  // `tessera cdi check` of one document that needs this file of the host.
  void Check(const std::string& file) {
    const std::string documents = directory_ + "/cdi";
    ASSERT_TRUE(os::MakeDirectories(documents, 0755));
    ASSERT_TRUE(os::ReplaceFile(
        documents + "/a.json",
        R"({"cdiVersion": "0.5.0", "kind": "ab.com/gpu", "devices": [{"name": "x", )"
        R"("containerEdits": {"mounts": [{"hostPath": ")" +
            file + R"(", "containerPath": "/a"}]}}]})",
        0644));
    arguments_.Add("directory", documents);
    const Command cdi = CdiCommand();
    Run(*std::ranges::find(cdi.commands, "check", &Command::name));
  }
};

TEST_F(CdiCheckTest, TheHostsFilesAreLookedForWhereTheAgentHasThem) {
  if (geteuid() != 0) GTEST_SKIP() << "documents are root's alone";
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/driver/usr/lib"));
  ASSERT_TRUE(os::ReplaceFile(directory_ + "/driver/usr/lib/tessera-none.so", "x"));
  Serve(http::Json(json::Object{
      {"trees", json::Array{json::Object{{"seen", directory_ + "/driver"}, {"host", ""}}}}}));
  Check("/usr/lib/tessera-none.so");
  EXPECT_EQ(err_, "");
  EXPECT_EQ(out_, "1 CDI document: good\n");
  EXPECT_EQ(asked_, "GET /cdi \n");
}

TEST_F(CdiCheckTest, InAPodWhatIsNotMountedIsSaidAndNoError) {
  if (geteuid() != 0) GTEST_SKIP() << "documents are root's alone";
  setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1);
  Check("/no-such-directory/libcuda.so");
  unsetenv("KUBERNETES_SERVICE_HOST");
  EXPECT_EQ(code_, kOk);
  EXPECT_EQ(out_, "1 CDI document: good, apart from paths that are not visible here\n");
  EXPECT_EQ(err_,
            "note: 1 path of the host that documents name is not visible here: "
            "/no-such-directory/libcuda.so; run this on the host, or mount them\n");
}

}  // namespace
}  // namespace tessera::cli
