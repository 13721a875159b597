// SPDX-License-Identifier: Apache-2.0
#include "cli/config_command.h"

#include <gtest/gtest.h>

#include <string_view>

#include "json/json.h"
#include "os/files.h"

namespace tessera::cli {
namespace {

// What a command wrote to one of its streams.
class Stream {
 public:
  Stream() : file_(open_memstream(&text_, &size_)) {}
  ~Stream() {
    fclose(file_);
    free(text_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  FILE* get() { return file_; }
  std::string Text() {
    fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  size_t size_ = 0;
  FILE* file_;
};

class ConfigCommandTest : public testing::Test {
 protected:
  ~ConfigCommandTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  // The sources for a file with this content.
  ConfigSources File(std::string_view content) {
    EXPECT_TRUE(os::WriteFileAtomically(path_, content));
    return {.file = path_};
  }

  std::string directory_ = *os::MakeTemporaryDirectory("/tmp/tessera-cli-");
  std::string path_ = directory_ + "/t.yaml";
  Stream out_;
  Stream err_;
};

constexpr const char* kGood =
    "version: tessera/v1\nresources: [{name: dummy.com/npu, dummy: {count: 4}}]\n";

TEST_F(ConfigCommandTest, CheckOfAGoodFileSaysSo) {
  EXPECT_EQ(ConfigCheck(File(kGood), out_.get(), err_.get()), 0);
  EXPECT_EQ(out_.Text(), path_ + ": good, 1 resource\n");
  EXPECT_EQ(err_.Text(), "");
}

TEST_F(ConfigCommandTest, CheckTellsAllErrorsAndFails) {
  EXPECT_EQ(ConfigCheck(File("version: tessera/v1\nlogg: 1\nlog: {levl: info}\n"), out_.get(),
                        err_.get()),
            1);
  EXPECT_EQ(out_.Text(), "");
  EXPECT_EQ(err_.Text(),
            path_ + ":2:1: unknown key 'logg'; did you mean 'log'? [config-unknown-key]\n" +
                "logg: 1\n" + "^\n" + path_ +
                ":3:7: unknown key 'levl' in log; did you mean 'level'? [config-unknown-key]\n" +
                "log: {levl: info}\n" + "      ^\n" + path_ + ": 2 errors\n");
}

TEST_F(ConfigCommandTest, CheckPassesWarningsOn) {
  EXPECT_EQ(ConfigCheck(File("version: tessera/v1\n"), out_.get(), err_.get()), 0);
  EXPECT_EQ(err_.Text(),
            "warning: " + path_ + ": no resources: the agent serves nothing [config-missing]\n");
}

TEST_F(ConfigCommandTest, CheckOfAFileThatIsNotThereFails) {
  EXPECT_EQ(ConfigCheck({.file = path_}, out_.get(), err_.get()), 1);
  EXPECT_EQ(err_.Text(),
            path_ + ": there is no such file [config-unreadable]\n" + path_ + ": 1 error\n");
}

TEST_F(ConfigCommandTest, PrintShowsWhatTheAgentWouldUse) {
  ConfigSources sources = File(kGood);
  sources.environment = {{"TESSERA_LOG_LEVEL", "warn"}};
  sources.flags = {{"log-level", "debug"}};
  EXPECT_EQ(ConfigPrint(sources, ConfigForm::kYaml, out_.get(), err_.get()), 0);
  EXPECT_NE(out_.Text().find("  level: debug                                # flag --log-level\n"),
            std::string::npos)
      << out_.Text();
}

TEST_F(ConfigCommandTest, PrintAsJsonIsJson) {
  EXPECT_EQ(ConfigPrint(File(kGood), ConfigForm::kJson, out_.get(), err_.get()), 0);
  EXPECT_TRUE(json::Parse(out_.Text()));
}

TEST_F(ConfigCommandTest, PrintOfABadFileFails) {
  EXPECT_EQ(ConfigPrint(File("a: 1\n"), ConfigForm::kYaml, out_.get(), err_.get()), 1);
  EXPECT_EQ(out_.Text(), "");
  EXPECT_NE(err_.Text(), "");
}

TEST_F(ConfigCommandTest, SchemaIsJson) {
  EXPECT_EQ(ConfigSchema(out_.get()), 0);
  EXPECT_TRUE(json::Parse(out_.Text()));
}

}  // namespace
}  // namespace tessera::cli
