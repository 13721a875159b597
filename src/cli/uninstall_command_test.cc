// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>

#include "cli/commands.h"
#include "grant/grant.h"
#include "kubelet/checkpoint.h"
#include "os/files.h"
#include "os/lock.h"
#include "os/waiting_test.h"

namespace tessera::cli {
namespace {

constexpr char kHeldGrant[] = "00000000000000000000000000000001";

std::string Field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

// A node with a container's grant, of which kubelet knows as long as the pod is there.
class UninstallCommandTest : public testing::Test {
 protected:
  UninstallCommandTest() {
    for (const char* path : {"/state/grants", "/var/lib/kubelet/device-plugins"}) {
      EXPECT_TRUE(os::MakeDirectories(directory_ + path, 0755));
    }
    Write("/tessera.yaml", "version: tessera/v1\napi: {use: false}\nrootPrefix: " + directory_ +
                               "\nstate: {dir: " + directory_ + "/state}\n");
    Write("/state/grants/" + std::string(kHeldGrant) + ".json",
          R"({"version": 1, "directory": "/d/)" + std::string(kHeldGrant) + R"(",
        "parts": [{"device": "GPU-1", "memory": 1, "cores": 1}]})");
    arguments_.Set("config", directory_ + "/tessera.yaml");
  }
  ~UninstallCommandTest() override { (void)os::RemoveTree(directory_); }

  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(os::ReplaceFile(directory_ + path, text));
  }
  void Know(const std::string& pod) {
    kubelet::Checkpoint checkpoint;
    checkpoint.entries.push_back(
        {.pod_uid = pod,
         .container = "app",
         .resource = "nvidia.com/gpu",
         .ids_by_numa = {{"-1", {"GPU-1-0"}}},
         .allocate_response = Field(4, Field(1, kGrantAnnotation) + Field(2, kHeldGrant))});
    Write("/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
          kubelet::WriteCheckpoint(checkpoint));
  }
  void Run() {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    code_ = UninstallCommand().run(arguments_);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
  }
  bool HasGrant() const {
    return os::Exists(directory_ + "/state/grants/" + std::string(kHeldGrant) + ".json");
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-cli-").value();
  Arguments arguments_;
  int code_ = -1;
  std::string out_;
  std::string err_;
};

TEST_F(UninstallCommandTest, NothingIsRemovedWhileAContainerHasAGrantUnlessForced) {
  Know("uid-1");
  Run();

  EXPECT_EQ(code_, kFailed);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(err_,
            "nothing is removed: kubelet still knows 1 container with virtual GPUs, which could "
            "not restart:\n"
            "container app of pod uid-1\n"
            "delete these pods, or use --force\n");
  EXPECT_TRUE(HasGrant());

  arguments_.Set("force", "");
  Run();
  EXPECT_EQ(code_, kOk) << err_;
  EXPECT_FALSE(HasGrant());
}

TEST_F(UninstallCommandTest, WhereKubeletKnowsNoneWhatGrantsLeftGoes) {
  Run();

  EXPECT_EQ(code_, kOk) << err_;
  EXPECT_EQ(out_, "removed: CDI documents\nremoved: files of virtual GPU grants\n");
  EXPECT_FALSE(HasGrant());
}

TEST_F(UninstallCommandTest, NothingIsRemovedWhileAnAgentRunsUnlessForced) {
  auto agent = os::FileLock::Take(directory_ + "/state/lock");
  ASSERT_TRUE(agent);
  Run();
  EXPECT_EQ(code_, kFailed);
  EXPECT_EQ(err_, "nothing is removed: an agent runs with the state in " + directory_ +
                      "/state; stop it\n");
  EXPECT_TRUE(HasGrant());

  arguments_.Set("force", "");
  Run();
  EXPECT_EQ(code_, kOk) << err_;
  EXPECT_FALSE(HasGrant());
}

TEST_F(UninstallCommandTest, AnAgentThatStopsIsAwaited) {
  std::optional<os::FileLock> agent = os::FileLock::Take(directory_ + "/state/lock").value();
  {
    const os::WaitingCall waits([this] { Run(); });
    agent.reset();
  }
  EXPECT_EQ(code_, kOk) << err_;
  EXPECT_FALSE(HasGrant());
}

}  // namespace
}  // namespace tessera::cli
