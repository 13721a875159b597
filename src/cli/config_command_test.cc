// SPDX-License-Identifier: Apache-2.0
#include "cli/config_command.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string_view>

#include "cdi/container_runtime.h"
#include "json/json.h"
#include "os/files.h"

namespace tessera::cli {
namespace {

// The output of a command on one of its streams.
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

  // A file with this content; its path.
  std::string Write(std::string_view content) {
    EXPECT_TRUE(os::WriteFileAtomically(path_, content));
    return path_;
  }

  std::string directory_ = *os::MakeTemporaryDirectory("/tmp/tessera-cli-");
  std::string path_ = directory_ + "/t.yaml";
  Stream out_;
  Stream err_;
};

constexpr const char* kGood =
    "version: tessera/v1\nresources: [{name: dummy.com/npu, dummy: {count: 4}}]\n";

TEST_F(ConfigCommandTest, CheckOfAGoodFileSaysSo) {
  EXPECT_EQ(ConfigCheck(Write(kGood), out_.get(), err_.get()), 0);
  EXPECT_EQ(out_.Text(), path_ + ": good, 1 resource\n");
  EXPECT_EQ(err_.Text(), "");
}

TEST_F(ConfigCommandTest, CheckTellsAllErrorsAndFails) {
  EXPECT_EQ(ConfigCheck(Write("version: tessera/v1\nlogg: 1\nlgo: {level: info}\n"), out_.get(),
                        err_.get()),
            1);
  EXPECT_EQ(out_.Text(), "");
  EXPECT_EQ(err_.Text(),
            path_ + ":2:1: unknown key 'logg'; did you mean 'log'? [config-unknown-key]\n" +
                "logg: 1\n" + "^\n" + path_ +
                ":3:1: unknown key 'lgo'; did you mean 'log'? [config-unknown-key]\n" +
                "lgo: {level: info}\n" + "^\n" + path_ + ": 2 errors\n");
}

TEST_F(ConfigCommandTest, CheckPassesWarningsOn) {
  EXPECT_EQ(ConfigCheck(Write("version: tessera/v1\n"), out_.get(), err_.get()), 0);
  EXPECT_EQ(err_.Text(),
            "warning: " + path_ + ": no resources: the agent serves nothing [config-missing]\n");
}

TEST_F(ConfigCommandTest, CheckOfAFileThatIsNotThereFails) {
  EXPECT_EQ(ConfigCheck(path_, out_.get(), err_.get()), 1);
  EXPECT_EQ(err_.Text(),
            path_ + ": there is no such file [config-unreadable]\n" + path_ + ": 1 error\n");
}

TEST_F(ConfigCommandTest, PrintShowsWhatTheAgentWouldUse) {
  ConfigSources sources{.file = Write(kGood)};
  sources.environment = {{"TESSERA_LOG_LEVEL", "warn"}};
  sources.flags = {{"log-level", "debug"}};
  EXPECT_EQ(ConfigPrint(sources, ConfigForm::kYaml, out_.get(), err_.get()), 0);
  EXPECT_NE(out_.Text().find("  level: debug                                # flag --log-level\n"),
            std::string::npos)
      << out_.Text();
}

TEST_F(ConfigCommandTest, PrintShowsWhatTheContainerRuntimeMakesOfIt) {
  ASSERT_TRUE(
      RememberVersions(directory_, {.runtime = "containerd://2.2.0", .kubelet = "v1.36.3"}));
  const std::string file =
      Write(fmt::format("version: tessera/v1\nrootPrefix: {0}\nstate: {{dir: {0}}}\n"
                        "resources: [{{name: nvidia.com/gpu, nvidia: {{}}}}]\n",
                        directory_));
  EXPECT_EQ(ConfigPrint({.file = file}, ConfigForm::kYaml, out_.get(), err_.get()), 0);
  EXPECT_EQ(err_.Text(), "");
  for (const char* line :
       {"    strategies: [cdi-cri]                     # containerd://2.2.0\n",
        "      kind: k8s.device-plugin.nvidia.com/gpu  # containerd://2.2.0\n"}) {
    EXPECT_NE(out_.Text().find(line), std::string::npos) << out_.Text();
  }
}

TEST_F(ConfigCommandTest, PrintAsJsonIsJson) {
  EXPECT_EQ(ConfigPrint({.file = Write(kGood)}, ConfigForm::kJson, out_.get(), err_.get()), 0);
  EXPECT_TRUE(json::Parse(out_.Text()));
}

TEST_F(ConfigCommandTest, PrintOfABadFileFails) {
  EXPECT_EQ(ConfigPrint({.file = Write("a: 1\n")}, ConfigForm::kYaml, out_.get(), err_.get()), 1);
  EXPECT_EQ(out_.Text(), "");
  EXPECT_NE(err_.Text(), "");
}

TEST_F(ConfigCommandTest, ConvertPrintsAFileThatCheckTakes) {
  EXPECT_EQ(
      ConfigConvert(Write("version: v1\n"
                          "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 10}]}}\n"
                          "flags: {plugin: {deviceListStrategy: volume-mounts}}\n"),
                    "", {{"DP_DISABLE_HEALTHCHECKS", "all"}}, Extent::kAll, out_.get(), err_.get()),
      0);
  EXPECT_EQ(err_.Text(), "");
  EXPECT_NE(out_.Text().find("otherXids: ignore"), std::string::npos) << out_.Text();
  EXPECT_NE(out_.Text().find("# environment DP_DISABLE_HEALTHCHECKS\n"), std::string::npos);
  EXPECT_NE(out_.Text().find("    replicas: 10                              # " + path_ + ":2\n"),
            std::string::npos)
      << out_.Text();
  Stream verdict;
  EXPECT_EQ(ConfigCheck(Write(out_.Text()), verdict.get(), err_.get()), 0);
  EXPECT_EQ(verdict.Text(), path_ + ": good, 1 resource\n");
}

TEST_F(ConfigCommandTest, ConvertTellsWhatHasNoEffectAndFailsWithWhatIsNotServed) {
  const std::string yaml = "{x: 1, sharing: {mps: {resources: [{name: gpu, replicas: 49}]}}}\n";
  EXPECT_EQ(ConfigConvert(Write(yaml), "",
                          {{"DEVICE_LIST_STRATEGY", "volume-mounts"}, {"MPS_ROOT", "/run/mps"}},
                          Extent::kAll, out_.get(), err_.get()),
            1);
  EXPECT_EQ(out_.Text(), "");
  EXPECT_EQ(err_.Text(), "warning: " + path_ +
                             ":1:2: unknown key 'x' has no effect [config-unknown-key]\n" + yaml +
                             " ^\n" + path_ +
                             ":1:58: sharing.mps.resources[0].replicas is 49; at most 48 are "
                             "served [config-bad-value]\n" +
                             yaml + std::string(57, ' ') + "^\n" + path_ + ": 1 error\n");
}

TEST_F(ConfigCommandTest, ConvertReadsHamisConfigurationOfANode) {
  const std::string nodes = path_ + ".json";
  ASSERT_TRUE(os::WriteFileAtomically(
      nodes, R"({"nodeconfig":[{"name":"worker-1","devicememoryscaling":1.8}]})"));
  EXPECT_EQ(ConfigConvert(Write("nvidia:\n  deviceSplitCount: 4\n"), nodes,
                          {{"NODE_NAME", "worker-1"}}, Extent::kAll, out_.get(), err_.get()),
            0);
  EXPECT_TRUE(os::RemoveFile(nodes));
  EXPECT_EQ(err_.Text(), "");
  EXPECT_NE(out_.Text().find("    replicas: 4                               # " + path_ + ":2\n"),
            std::string::npos)
      << out_.Text();
  EXPECT_NE(out_.Text().find("        memoryScaling: 1.8                    # " + nodes +
                             ", nodeconfig[0]\n"),
            std::string::npos)
      << out_.Text();
  Stream verdict;
  EXPECT_EQ(ConfigCheck(Write(out_.Text()), verdict.get(), err_.get()), 0);
  EXPECT_EQ(verdict.Text(), path_ + ": good, 1 resource\n");
}

TEST_F(ConfigCommandTest, ConvertPrintsWhatDiffersFromTheDefaultsAlone) {
  EXPECT_EQ(ConfigConvert(Write("version: v1\n"
                                "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 10}]}}\n"
                                "flags: {plugin: {deviceListStrategy: volume-mounts}}\n"),
                          "", {}, Extent::kChanged, out_.get(), err_.get()),
            0);
  EXPECT_EQ(err_.Text(), "");
  EXPECT_EQ(
      out_.Text(),
      "# All other keys have their defaults; 'tessera config convert --all' prints them as well.\n"
      "version: tessera/v1                           # default\n"
      "resources:\n"
      "  - name: nvidia.com/gpu                      # default\n"
      "    policy: replicas                          # " +
          path_ +
          ":2\n"
          "    replicas: 10                              # " +
          path_ +
          ":2\n"
          "    strategies: [volume-mounts]               # " +
          path_ +
          ":3\n"
          "    nvidia:\n"
          "      driverRoot: /driver-root                # NVIDIA's default\n"
          "      inMigMode: whole                        # NVIDIA's default\n");
}

TEST_F(ConfigCommandTest, CheckTakesAFileOfNvidiasPluginForWhatItIs) {
  EXPECT_EQ(
      ConfigCheck(Write("version: v1\nflags: {plugin: {deviceListStrategy: volume-mounts}}\n"),
                  out_.get(), err_.get()),
      0);
  EXPECT_EQ(err_.Text(), "");
  EXPECT_EQ(out_.Text(),
            path_ + ": read as a file of NVIDIA's device plugin, as 'tessera agent nvidia' does\n" +
                path_ + ": good, 1 resource\n");
}

TEST_F(ConfigCommandTest, CheckOfAFileOfHamisSaysWhatIsWrongThere) {
  EXPECT_EQ(ConfigCheck(Write("nvidia:\n  deviceSplitCount: none\n"), out_.get(), err_.get()), 1);
  EXPECT_EQ(out_.Text(),
            path_ + ": read as a file of HAMi's device plugin, as 'tessera agent nvidia' does\n");
  EXPECT_NE(err_.Text().find(":2:21: nvidia.deviceSplitCount"), std::string::npos) << err_.Text();
  EXPECT_TRUE(err_.Text().ends_with(path_ + ": 1 error\n")) << err_.Text();
}

TEST_F(ConfigCommandTest, SchemaIsJson) {
  EXPECT_EQ(ConfigSchema(out_.get()), 0);
  EXPECT_TRUE(json::Parse(out_.Text()));
}

}  // namespace
}  // namespace tessera::cli
