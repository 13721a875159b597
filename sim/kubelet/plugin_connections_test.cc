// SPDX-License-Identifier: Apache-2.0
// Several plugins of one resource, and streams that end, under the rules of both generations.
#include "sim/kubelet/plugin_connections.h"

#include <semaphore>

#include "sim/kubelet/fake_plugin_test.h"

namespace tessera::kubelet::embedded {
namespace {

class Connections : public NodeTest {
 protected:
  // Blocks kubelet's loop until `go_on_`, as an overloaded machine would.
  void HoldUp() {
    kubelet->SetListener([this](const KubeletEvent& event) {
      if (event.kind == KubeletEvent::Kind::kStreamEnded) ended_.release();
      if (event.kind != KubeletEvent::Kind::kRegisterRefused) return;
      held_.release();
      go_on_.acquire();
    });
    ASSERT_FALSE(Register("any.sock", "no resource").ok());
    held_.acquire();
  }

  std::counting_semaphore<> held_{0};
  std::counting_semaphore<> go_on_{0};
  std::counting_semaphore<> ended_{0};
};

TEST_F(Connections, AnEndedStreamIsNotAskedForAgain) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  plugin.EndStreams();
  ASSERT_TRUE(AwaitCounts(4, 0));
  EXPECT_FALSE(Npu().connected);
  ASSERT_TRUE(Register("a.sock").ok());
  ASSERT_TRUE(AwaitCounts(4, 4));
  EXPECT_EQ(plugin.Read(&FakePlugin::list_calls), 2);
}

TEST_F(Connections, EndOfTheOldStreamDisconnectsTheNewPluginUpTo136) {
  Start();
  FakePlugin old_plugin;
  FakePlugin new_plugin;
  Bring(old_plugin, "old.sock", 4);
  Bring(new_plugin, "new.sock", 5);
  old_plugin.Shutdown();
  ASSERT_TRUE(AwaitCounts(5, 0));
  EXPECT_TRUE(new_plugin.Await([](auto& plugin) { return plugin.open_streams == 0; }));
  ASSERT_TRUE(Register("new.sock").ok());
  EXPECT_TRUE(AwaitCounts(5, 5));
}

TEST_F(Connections, ARegistrationThatFailsMakesKubeletForgetTheLivePluginUpTo136) {
  Start();
  FakePlugin live;
  Bring(live, "live.sock", 4);
  FakePlugin broken({.options_status = {grpc::StatusCode::INTERNAL, "broken"}});
  broken.Serve(PluginPath("broken.sock"));
  ASSERT_FALSE(Register("broken.sock").ok());
  Record();
  live.Shutdown();
  ASSERT_TRUE(AwaitEvent("the list of dummy.com/npu ended"));
  EXPECT_EQ(Npu().allocatable, 4);
}

TEST_F(Connections, TwoPluginsOverlapSafelyFrom137) {
  options.rules = ConnectionRules::kFrom137;
  Start();
  FakePlugin old_plugin;
  FakePlugin new_plugin;
  Bring(old_plugin, "old.sock", 4);
  Bring(new_plugin, "new.sock", 5);
  Record();
  old_plugin.Shutdown();
  ASSERT_TRUE(AwaitEvent("the list of dummy.com/npu ended"));
  EXPECT_EQ(Npu().allocatable, 5);
  EXPECT_TRUE(kubelet->RunPod(OneContainer("pod", 1)).admitted);
  EXPECT_EQ(new_plugin.Read(&FakePlugin::allocated).size(), 1U);
}

TEST_F(Connections, TheSurvivorIsPromotedWhenTheNewestGoesFrom137) {
  options.rules = ConnectionRules::kFrom137;
  Start();
  FakePlugin old_plugin;
  Bring(old_plugin, "old.sock", 4);
  {
    FakePlugin new_plugin;
    Bring(new_plugin, "new.sock", 4);
    Record();
  }
  ASSERT_TRUE(AwaitEvent("the list of dummy.com/npu ended"));
  EXPECT_EQ(Npu().allocatable, 4);
  EXPECT_TRUE(kubelet->RunPod(OneContainer("pod", 1)).admitted);
  EXPECT_EQ(old_plugin.Read(&FakePlugin::allocated).size(), 1U);
}

TEST_F(Connections, APathStillConnectedIsRefusedAndThenForgottenFrom137) {
  options.rules = ConnectionRules::kFrom137;
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  grpc::Status again = Register("a.sock");
  EXPECT_EQ(again.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(again.error_message(), "device plugin already connected: " + PluginPath("a.sock"));
  Record();
  plugin.Shutdown();
  ASSERT_TRUE(AwaitEvent("the list of dummy.com/npu ended"));
  // kubelet never notices: the devices stay, and Allocate fails.
  EXPECT_EQ(Npu().allocatable, 4);
  Admission refused = kubelet->RunPod(OneContainer("pod", 1));
  EXPECT_TRUE(
      refused.message.starts_with("Allocate failed due to rpc error: code = Unavailable desc = "))
      << refused.message;
  FakePlugin successor;
  successor.Serve(PluginPath("a.sock"));
  EXPECT_EQ(Register("a.sock").error_message(),
            "device plugin already connected: " + PluginPath("a.sock"));
}

TEST_F(Connections, ADroppedStreamIsSeenByThePlugin) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  ASSERT_TRUE(kubelet->DropStream(kNpu));
  EXPECT_TRUE(plugin.Await([](auto& p) { return p.open_streams == 0; }));
  EXPECT_TRUE(AwaitCounts(4, 0));
  EXPECT_EQ(kubelet->DropStream(kNpu).error().message, "no plugin is connected for dummy.com/npu");
}

TEST_F(Connections, AKubeletThatHangsInAStreamAllocatesAndTakesTheListsOnceItGoesOn) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  ASSERT_TRUE(kubelet->HangInStream(kNpu, true));

  plugin.SetDevices(HealthyDevices(7));
  EXPECT_TRUE(kubelet->RunPod(OneContainer("pod", 1)).admitted);
  EXPECT_EQ(Npu().capacity, 4);
  ASSERT_TRUE(kubelet->HangInStream(kNpu, false));

  EXPECT_TRUE(AwaitCounts(7, 7));
}

TEST_F(Connections, AKubeletThatHangsInAStreamCanStop) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  ASSERT_TRUE(kubelet->HangInStream(kNpu, true));
  plugin.SetDevices(HealthyDevices(7));

  kubelet->Stop();

  EXPECT_TRUE(plugin.Await([](auto& p) { return p.open_streams == 0; }));
}

TEST_F(Connections, APluginThatRegistersAfterADropIsKeptHoweverLateTheEndIsNoticed) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  HoldUp();
  ASSERT_TRUE(kubelet->DropStream(kNpu));
  ASSERT_TRUE(plugin.Await([](auto& p) { return p.open_streams == 0; }));
  ASSERT_TRUE(Register("a.sock").ok());
  go_on_.release();
  ended_.acquire();
  ASSERT_TRUE(AwaitCounts(4, 4));
  EXPECT_TRUE(kubelet->RunPod(OneContainer("pod", 1)).admitted);
}

}  // namespace
}  // namespace tessera::kubelet::embedded
