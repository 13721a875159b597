// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/commands.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera::cli {
namespace {

class LabelsCommandTest : public testing::Test {
 protected:
  LabelsCommandTest() {
    Configure("labels: {timestamp: false}\n");
    arguments_.Set("root-prefix", node_.directory());
  }
  ~LabelsCommandTest() override { (void)os::RemoveTree(directory_); }

  void Configure(const std::string& yaml) {
    const std::string file = directory_ + "/tessera.yaml";
    ASSERT_TRUE(os::ReplaceFile(file, "version: tessera/v1\n" + yaml));
    arguments_.Set("config", file);
  }
  void Run(const Command& command) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    code_ = command.run(arguments_);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-cli-").value();
  NvidiaNode node_{directory_ + "/node", "1xt4"};
  Arguments arguments_;
  int code_ = -1;
  std::string out_;
  std::string err_;
};

// The labels of a node with one T4. Shares of its resource may have a product name of their own.
std::string Expected(const std::string& product, int replicas, const std::string& sharing) {
  return R"(nvidia.com/cuda.driver-version.full=570.172.08
nvidia.com/cuda.driver-version.major=570
nvidia.com/cuda.driver-version.minor=172
nvidia.com/cuda.driver-version.revision=08
nvidia.com/cuda.driver.major=570
nvidia.com/cuda.driver.minor=172
nvidia.com/cuda.driver.rev=08
nvidia.com/cuda.runtime-version.full=12.8
nvidia.com/cuda.runtime-version.major=12
nvidia.com/cuda.runtime-version.minor=8
nvidia.com/cuda.runtime.major=12
nvidia.com/cuda.runtime.minor=8
nvidia.com/gpu.compute.major=7
nvidia.com/gpu.compute.minor=5
nvidia.com/gpu.count=1
nvidia.com/gpu.family=turing
nvidia.com/gpu.machine=g4dn.xlarge
nvidia.com/gpu.memory=15360
nvidia.com/gpu.mode=compute
nvidia.com/gpu.product=)" +
         product + "\nnvidia.com/gpu.replicas=" + std::to_string(replicas) +
         "\nnvidia.com/gpu.sharing-strategy=" + sharing + R"(
nvidia.com/mig.capable=false
nvidia.com/mps.capable=false
nvidia.com/vgpu.present=false
)";
}

TEST_F(LabelsCommandTest, LabelsAreLinesInOrder) {
  Run(LabelsCommand());

  EXPECT_EQ(code_, kOk) << err_;
  EXPECT_EQ(out_, Expected("Tesla-T4", 1, "none"));
}

TEST_F(LabelsCommandTest, SharesAreThoseOfTheConfiguration) {
  Configure(
      "labels: {timestamp: false}\n"
      "resources:\n"
      "- {name: nvidia.com/gpu, policy: replicas, replicas: 3, nvidia: {}}\n");
  Run(LabelsCommand());

  EXPECT_EQ(code_, kOk) << err_;
  EXPECT_EQ(out_, Expected("Tesla-T4-SHARED", 3, "time-slicing"));
}

TEST_F(LabelsCommandTest, NvidiasConfigurationIsReadAsTheDevicePluginReadsIt) {
  const std::string file = directory_ + "/config.yaml";
  ASSERT_TRUE(os::ReplaceFile(file,
                              "version: v1\n"
                              "flags: {gfd: {noTimestamp: true}}\n"
                              "sharing:\n"
                              "  timeSlicing:\n"
                              "    renameByDefault: true\n"
                              "    resources: [{name: nvidia.com/gpu, replicas: 4}]\n"));
  ASSERT_EQ(symlink(".", (node_.directory() + "/driver-root").c_str()), 0);
  Arguments arguments;
  arguments.Set("root-prefix", node_.directory());
  arguments.SetWords({"--config-file", file});
  arguments_ = arguments;
  Run(LabelsCommand().commands[0]);

  EXPECT_EQ(code_, kOk) << err_;
  EXPECT_EQ(out_, Expected("Tesla-T4", 4, "time-slicing"));
}

TEST_F(LabelsCommandTest, WhatFeatureDiscoveryIsStartedWithIsTaken) {
  const std::string file = directory_ + "/features.d/gfd";
  ASSERT_EQ(symlink(".", (node_.directory() + "/driver-root").c_str()), 0);
  Arguments arguments;
  arguments.Set("root-prefix", node_.directory());
  arguments.SetWords({"--oneshot", "--no-timestamp", "--output-file", file});
  arguments_ = arguments;
  Run(LabelsCommand().commands[0]);

  EXPECT_EQ(code_, kOk) << err_;
  EXPECT_EQ(out_, "");
  EXPECT_EQ(os::ReadFile(file).value_or(""), Expected("Tesla-T4", 1, "none"));
}

TEST_F(LabelsCommandTest, AFileIsWritten) {
  const std::string file = directory_ + "/features.d/gfd";
  arguments_.Set("output-file", file);
  Run(LabelsCommand());

  EXPECT_EQ(code_, kOk) << err_;
  EXPECT_EQ(out_, "");
  EXPECT_EQ(os::ReadFile(file).value_or(""), Expected("Tesla-T4", 1, "none"));
}

TEST_F(LabelsCommandTest, WithoutADriverNothingIsWritten) {
  node_.RemoveDriver();
  arguments_.Set("output-file", directory_ + "/gfd");
  Run(LabelsCommand());

  EXPECT_EQ(code_, kFailed);
  EXPECT_TRUE(err_.starts_with("tessera: cannot load NVML: ")) << err_;
  EXPECT_FALSE(os::Exists(directory_ + "/gfd"));
}

TEST_F(LabelsCommandTest, AConfigurationWithAnErrorIsTold) {
  Configure("labels: {output: nodes}\n");
  Run(LabelsCommand());

  EXPECT_EQ(code_, kFailed);
  EXPECT_EQ(out_, "");
  EXPECT_NE(err_.find("labels.output takes 'off', 'file', 'node' or 'auto', not 'nodes'"),
            err_.npos)
      << err_;
}

}  // namespace
}  // namespace tessera::cli
