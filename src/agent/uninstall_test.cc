// SPDX-License-Identifier: Apache-2.0
#include "agent/uninstall.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "api/server.h"
#include "fraction/grant_binder_under_test.h"
#include "json/json.h"
#include "os/files.h"
#include "os/loop.h"
#include "prepare/journal.h"
#include "report/condition_record.h"
#include "report/registration_record.h"

namespace tessera::agent {
namespace {

constexpr char kRegistered[] = R"({"metadata":{"annotations":{"hami.io/node-nvidia-register":"[]",)"
                               R"("hami.io/node-handshake":"Requesting_2026-08-21 09:30:00"}}})";

// An API server with its own thread, and a node with conditions.
class UninstallTest : public testing::Test {
 protected:
  UninstallTest() {
    std::signal(SIGPIPE, SIG_IGN);
    config_.state_dir = directory_;
  }
  ~UninstallTest() override { (void)os::RemoveTree(directory_); }

  // The received patches, one per line.
  std::string Patches() {
    std::string patches;
    os::Loop loop;
    fake::Server server(loop, [&](const fake::Asked& asked, fake::Peer& peer) {
      if (asked.method == "PATCH") patches += asked.target + " " + asked.body + "\n";
      peer.Send(fake::Answer(200, json::Write(node_)));
    });
    std::thread serving([&] { loop.Run(); });
    kube::Access access;
    access.host = "127.0.0.1";
    access.port = server.port();
    access.tls = false;
    for (const Removal& removal : Uninstall(config_, ApiTarget{.access = access, .node = "n1"})) {
      EXPECT_FALSE(removal.error) << removal.what << ": " << removal.error->message;
    }
    loop.Stop();
    serving.join();
    return patches;
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/tessera-uninstall-").value();
  config::Config config_;
  json::Value node_ =
      json::Parse(R"({"status":{"conditions":[{"type":"Ready","reason":"KubeletReady"},)"
                  R"({"type":"DevicesUnhealthy","reason":"DevicesHealthy"},)"
                  R"({"type":"GPUUnhealthy","reason":"DeviceUnhealthy"}]}})")
          .value();
};

TEST_F(UninstallTest, TheConditionOfTheConfigurationIsTakenAway) {
  EXPECT_EQ(Patches(), R"(/api/v1/nodes/n1/status {"status":{"conditions":[)"
                       R"({"type":"DevicesUnhealthy","$patch":"delete"}]}})"
                       "\n");
}

TEST_F(UninstallTest, AFormerOneIsAsWellAndThenForgotten) {
  ASSERT_TRUE(RecordConditions(directory_, {"GPUUnhealthy", "NpuUnhealthy"}));
  config_.api.condition = "off";

  EXPECT_EQ(Patches(), R"(/api/v1/nodes/n1/status {"status":{"conditions":[)"
                       R"({"type":"GPUUnhealthy","$patch":"delete"}]}})"
                       "\n");
  EXPECT_EQ(RecordedConditions(directory_).value(), std::set<std::string>());
}

TEST_F(UninstallTest, WhatHamisSchedulerWasToldOfTheNodeIsTakenAway) {
  ASSERT_TRUE(os::ReplaceFile(directory_ + "/hami-registration", "")) << "as 0.1.0 writes it";
  config_.api.condition = "off";
  node_ = json::Parse(kRegistered).value();

  EXPECT_EQ(Patches(), R"(/api/v1/nodes/n1 {"metadata":{"annotations":{)"
                       R"("hami.io/node-nvidia-register":null}}})"
                       "\n");
  EXPECT_FALSE(os::Exists(directory_ + "/hami-registration"));
}

TEST_F(UninstallTest, WhatItWasToldByAnotherPluginStays) {
  config_.api.condition = "off";
  node_ = json::Parse(kRegistered).value();

  EXPECT_EQ(Patches(), "");
}

// The files of a grant, and a checkpoint that names its holder.
class UninstallGrantsTest : public GrantBinderTest {
 protected:
  UninstallGrantsTest() {
    config_.root_prefix = directory_;
    config_.state_dir = directory_ + "/state";
    config_.kubelet.root = directory_ + "/var/lib/kubelet";
    config::Resource& resource = config_.resources.emplace_back();
    resource.name = kGpu;
    resource.cdi_dir = "/cdi";
    resource.rendering = rendering_;
    resource.rendering.fractions->install = "/image/libvgpu.so";
    EXPECT_TRUE(os::MakeDirectories(directory_ + "/var/lib/kubelet", 0755));
    EXPECT_EQ(symlink("../../../kubelet", Below("/var/lib/kubelet/device-plugins").c_str()), 0);
    Hold("uid-1", "app", {Share(0, 0)}, AnswerNaming(kOne));
    EXPECT_EQ(Bind({Share(0, 0)}), "");
  }
  std::string Below(const std::string& path) const { return directory_ + path; }

  config::Config config_;
};

TEST_F(UninstallGrantsTest, WhatGrantsLeftIsTakenAwayAndWhatOthersHaveThereStays) {
  const std::string installed = "/usr/local/vgpu/libvgpu.so.0123456789abcdef";
  ASSERT_TRUE(os::ReplaceFile(Below(installed), "a version"));
  ASSERT_TRUE(os::ReplaceFile(Below("/cdi/other.json"), "{}"));
  ASSERT_TRUE(os::Exists(Below("/usr/local/vgpu/containers/") + kOne));

  for (const Removal& removal : Uninstall(config_, std::nullopt)) {
    EXPECT_FALSE(removal.error) << removal.what << ": " << removal.error->message;
  }

  EXPECT_EQ(os::ListDirectory(Below("/cdi")), std::vector<std::string>{"other.json"});
  EXPECT_EQ(os::ListDirectory(Below("/state/grants")), std::vector<std::string>());
  EXPECT_EQ(os::ListDirectory(Below("/usr/local/vgpu/containers")), std::vector<std::string>());
  EXPECT_EQ(
      os::ListDirectory(Below("/usr/local/vgpu")),
      (std::vector<std::string>{"containers", "ld.so.preload", "libvgpu.so", "limits", "locks"}));
}

TEST_F(UninstallGrantsTest, WhatIsPreparedIsAnAgentsToUndo) {
  const Journal journal(config_.state_dir);
  const auto told = [this] {
    std::string text;
    for (const Removal& removal : Uninstall(config_, std::nullopt)) {
      if (removal.what.find("preparations") == std::string::npos) continue;
      text += removal.error ? removal.error->message : "nothing is left";
    }
    return text;
  };
  EXPECT_EQ(told(), "");
  ASSERT_TRUE(journal.Lock());
  EXPECT_EQ(told(), "nothing is left");
  ASSERT_TRUE(journal.Write(
      {.grant = kOne, .grants = {kOne}, .resource = kGpu, .preparer = "slot", .devices = {"0"}}));

  EXPECT_EQ(told(),
            "1 grant not undone yet, of nvidia.com/gpu. Run an agent that has these "
            "configured, without pods that use them, until " +
                config_.state_dir + "/prepared is empty; a reboot undoes nothing");
}

TEST_F(UninstallGrantsTest, WhoIsGoneByPodResourcesIsLeftInTheCheckpointAlone) {
  const std::vector<std::string> held = {"container app of pod uid-1"};
  const auto by = [&](Result<std::vector<Holding>> holdings) {
    return ContainersWithGrants(config_, holdings);
  };
  EXPECT_EQ(by(Fail(Reason::kPodResourcesUnavailable, "nobody answers")), held);
  EXPECT_EQ(by({{{.container = "app", .resource = kGpu, .share_ids = {Share(0, 0)}}}}), held);
  EXPECT_EQ(by({{{.container = "app", .resource = kGpu, .share_ids = {Share(1, 0)}}}}),
            std::vector<std::string>());
  EXPECT_EQ(by({{{.container = "other", .resource = kGpu, .share_ids = {Share(0, 0)}}}}),
            std::vector<std::string>());
}

TEST_F(UninstallGrantsTest, KubeletSaysWhoStillHasThem) {
  Hold("uid-2", "app", {Share(1, 0)}, Field(1, Field(1, "A") + Field(2, "1")));  // another plugin's
  EXPECT_EQ(ContainersWithGrants(config_), std::vector<std::string>{"container app of pod uid-1"});

  checkpoint_.entries.clear();
  Save();
  EXPECT_EQ(ContainersWithGrants(config_), std::vector<std::string>());

  const std::string checkpoint = Below("/kubelet/kubelet_internal_checkpoint");
  ASSERT_TRUE(os::ReplaceFile(checkpoint, "torn"));
  EXPECT_FALSE(ContainersWithGrants(config_));
  ASSERT_TRUE(os::RemoveFile(checkpoint));
  EXPECT_EQ(ContainersWithGrants(config_), std::vector<std::string>());
}

}  // namespace
}  // namespace tessera::agent
