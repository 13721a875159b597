// SPDX-License-Identifier: Apache-2.0
#include "agent/uninstall.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <thread>

#include "agent/condition_record.h"
#include "agent/registration_record.h"
#include "api/server.h"
#include "json/json.h"
#include "os/files.h"
#include "os/loop.h"

namespace tessera::agent {
namespace {

constexpr char kRegistered[] = R"({"metadata":{"annotations":{"hami.io/node-nvidia-register":"[]",)"
                               R"("hami.io/node-handshake":"Requesting_2026-08-21 09:30:00"}}})";

// An API server with a thread of its own, and a node that has some conditions.
class UninstallTest : public testing::Test {
 protected:
  UninstallTest() {
    std::signal(SIGPIPE, SIG_IGN);
    config_.state_dir = directory_;
  }
  ~UninstallTest() override { (void)os::RemoveTree(directory_); }

  // What was asked by patches, a line each.
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
    for (const Removal& removal : Uninstall(config_, ApiPlace{.access = access, .node = "n1"})) {
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
  ASSERT_TRUE(RecordRegistration(directory_));
  config_.api.condition = "off";
  node_ = json::Parse(kRegistered).value();

  EXPECT_EQ(Patches(), R"(/api/v1/nodes/n1 {"metadata":{"annotations":{)"
                       R"("hami.io/node-nvidia-register":null}}})"
                       "\n");
  EXPECT_FALSE(IsRegistrationRecorded(directory_));
}

TEST_F(UninstallTest, WhatItWasToldByAnotherPluginStays) {
  config_.api.condition = "off";
  node_ = json::Parse(kRegistered).value();

  EXPECT_EQ(Patches(), "");
}

}  // namespace
}  // namespace tessera::agent
