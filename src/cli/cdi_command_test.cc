// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/commands.h"
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
  // `tessera cdi generate` for one resource of GPUs whose strategies nobody chose.
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

}  // namespace
}  // namespace tessera::cli
