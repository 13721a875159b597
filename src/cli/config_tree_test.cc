// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/command/parse.h"
#include "cli/commands.h"
#include "os/files.h"

namespace tessera::cli {
namespace {

class ConfigTreeTest : public testing::Test {
 protected:
  ConfigTreeTest()
      : directory_(os::MakeTemporaryDirectory("/tmp/tessera-cli-").value()),
        file_(directory_ + "/tessera.yaml") {}
  ~ConfigTreeTest() override { (void)os::RemoveTree(directory_); }

  // Runs the words as a command line; the exit code.
  int Run(const std::vector<std::string>& words) {
    Command command = ConfigCommand();
    Parsed parsed = Parse(command, words);
    if (parsed.command == nullptr) return parsed.exit_code;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int code = parsed.command->run(parsed.arguments);
    std::fflush(stdout);
    std::fflush(stderr);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }
  void Write(std::string_view text) {
    ASSERT_TRUE(os::WriteFileAtomically(file_, text).has_value());
  }

  std::string directory_;
  std::string file_;
  std::string out_;
  std::string err_;
};

TEST_F(ConfigTreeTest, GoodFilePassesTheCheck) {
  Write("version: tessera/v1\nresources:\n  - name: dummy.com/npu\n    dummy: {count: 4}\n");

  EXPECT_EQ(Run({"check", file_}), kOk) << err_;
  EXPECT_EQ(out_, file_ + ": good, 1 resource\n");
}

TEST_F(ConfigTreeTest, BadFileFailsTheCheckWithItsPlace) {
  Write("version: tessera/v1\nresorces: []\n");

  EXPECT_EQ(Run({"check", file_}), kFailed);
  EXPECT_EQ(out_, "");
  EXPECT_NE(err_.find(":2:1:"), err_.npos) << err_;
  EXPECT_NE(err_.find("resources"), err_.npos) << err_;
}

TEST_F(ConfigTreeTest, FlagsShowUpInThePrintedConfiguration) {
  Write("version: tessera/v1\n");

  EXPECT_EQ(Run({"print", "--config", file_, "--log-level", "debug"}), kOk) << err_;
  EXPECT_NE(out_.find("flag --log-level"), out_.npos) << out_;
}

TEST_F(ConfigTreeTest, AFileOfHamisIsPrintedWithItsFlagsAsTheAgentReadsThem) {
  Write("nvidia:\n  deviceSplitCount: 4\n");

  EXPECT_EQ(Run({"print", "nvidia", "--config-file", file_, "--resource-name=hami.io/gpu"}), kOk)
      << err_;
  EXPECT_NE(out_.find("  - name: hami.io/gpu "), out_.npos) << out_;
  EXPECT_NE(out_.find("# flag --resource-name\n"), out_.npos) << out_;
  EXPECT_NE(out_.find("    replicas: 4 "), out_.npos) << out_;

  Write("nvidia:\n  deviceSplitCount: none\n");
  EXPECT_EQ(Run({"print", "nvidia", "--config-file", file_}), kFailed);
  EXPECT_EQ(out_, "");
}

TEST_F(ConfigTreeTest, SchemaIsPrinted) {
  EXPECT_EQ(Run({"schema"}), kOk);
  EXPECT_TRUE(out_.starts_with("{")) << out_;
}

TEST_F(ConfigTreeTest, OneOfItsCommandsMustBeNamed) {
  EXPECT_EQ(Run({}), kUsage);
}

TEST_F(ConfigTreeTest, AFileOfThePluginIsConvertedWithItsVariables) {
  Write("version: v1\n");

  EXPECT_EQ(Run({"convert", file_, "--env", "DP_DISABLE_HEALTHCHECKS=all", "--env",
                 "DP_ENABLE_HEALTHCHECKS=48", "--env", "DEVICE_LIST_STRATEGY=volume-mounts"}),
            kOk)
      << err_;
  EXPECT_EQ(err_, "");
  EXPECT_NE(out_.find("otherXids: ignore"), out_.npos) << out_;
  EXPECT_NE(out_.find("xid: 48"), out_.npos) << out_;

  EXPECT_EQ(Run({"convert", file_, "--env", "=1"}), kUsage);
  EXPECT_NE(err_.find("--env takes NAME=VALUE, not '=1'"), err_.npos) << err_;
}

}  // namespace
}  // namespace tessera::cli
