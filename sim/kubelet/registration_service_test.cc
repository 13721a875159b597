// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/registration_service.h"

#include <future>
#include <semaphore>

#include "sim/kubelet/fake_plugin_test.h"

namespace tessera::kubelet::embedded {
namespace {

class Registration : public NodeTest {};

TEST_F(Registration, APluginRegistersStreamsAndCounts) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 64);
  ResourceStatus npu = Npu();
  EXPECT_TRUE(npu.connected);
  EXPECT_EQ(npu.devices.front().id, "0");
  EXPECT_EQ(npu.devices.back().id, "63");
}

TEST_F(Registration, AnotherVersionIsRefused) {
  Start();
  grpc::Status status = Register("a.sock", kNpu, "v1alpha1");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(status.error_message(),
            "requested API version \"v1alpha1\" is not supported by kubelet. Supported version is "
            "[\"v1beta1\"]");
}

TEST_F(Registration, ANameThatIsNoExtendedResourceIsRefused) {
  Start();
  for (const char* name : {"foo", "kubernetes.io/foo", "requests.vendor.com/x", "Vendor.com/x"}) {
    grpc::Status status = Register("a.sock", name);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNKNOWN);
    EXPECT_EQ(status.error_message(), "the ResourceName \"" + std::string(name) + "\" is invalid");
  }
}

TEST_F(Registration, RegisterBeforeServingLastsUntilItsDeadline) {
  Start();
  const Steady begun = SystemClock().Now();
  const grpc::Status status = Register("a.sock", kNpu, "v1beta1", Duration(200));
  EXPECT_GE(SystemClock().Now() - begun, Duration(200));
  // By the caller's clock or kubelet's, whichever expires first.
  EXPECT_TRUE(status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
              status.error_message().find("context deadline exceeded") != std::string::npos)
      << status.error_message();
}

TEST_F(Registration, APluginThatServesWhileRegisterWaitsIsReached) {
  Start();
  FakePlugin plugin;
  plugin.SetDevices(HealthyDevices(2));
  std::thread registering([&] { EXPECT_TRUE(Register("a.sock").ok()); });
  plugin.Serve(PluginPath("a.sock"));
  registering.join();
  EXPECT_TRUE(AwaitCounts(2, 2));
}

TEST_F(Registration, TheCallersDeadlineReachesTheOptionsCall) {
  Start();
  FakePlugin plugin;
  plugin.Serve(PluginPath("a.sock"));
  ASSERT_TRUE(Register("a.sock", kNpu, "v1beta1", Duration(7'000)).ok());
  Duration left = plugin.Read(&FakePlugin::options_deadline);
  EXPECT_GT(left, Duration(0));
  EXPECT_LE(left, Duration(7'200));  // gRPC rounds a deadline up on its way
}

TEST_F(Registration, AFailingOptionsCallFailsRegister) {
  Start();
  FakePlugin plugin({.options_status = {grpc::StatusCode::INTERNAL, "broken"}});
  plugin.Serve(PluginPath("a.sock"));
  grpc::Status status = Register("a.sock");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(status.error_message(),
            "failed to get device plugin options: rpc error: code = Internal desc = broken");
  EXPECT_EQ(plugin.Read(&FakePlugin::list_calls), 0);
}

TEST_F(Registration, OptionsInTheRegisterRequestAreIgnored) {
  Start();
  FakePlugin plugin;  // asks for neither pre-start nor preference; the request does
  Bring(plugin, "a.sock", 4);
  EXPECT_TRUE(kubelet->RunPod(OneContainer("pod", 1)).admitted);
  EXPECT_TRUE(plugin.Read(&FakePlugin::preferred).empty());
  EXPECT_TRUE(plugin.Read(&FakePlugin::pre_started).empty());
}

TEST_F(Registration, TheEndpointMayLieBelowOrBesideTheDirectory) {
  Start();
  ASSERT_TRUE(os::MakeDirectories(PluginPath("sub")));
  ASSERT_TRUE(os::MakeDirectories(options.root + "/plugins"));
  FakePlugin below;
  below.Serve(PluginPath("sub/u.sock"));
  EXPECT_TRUE(Register("sub/u.sock").ok());
  FakePlugin beside;
  beside.Serve(options.root + "/plugins/x.sock");
  EXPECT_TRUE(Register("../plugins/x.sock", "dummy.com/other").ok());
}

TEST_F(Registration, ASilentKubeletAcceptsAndNeverStreams) {
  Start();
  kubelet->AcceptRegisterButNeverStream(true);
  FakePlugin plugin;
  plugin.Serve(PluginPath("a.sock"));
  EXPECT_TRUE(Register("a.sock").ok());
  EXPECT_EQ(plugin.Read(&FakePlugin::options_calls), 0);
  kubelet->AcceptRegisterButNeverStream(false);
  EXPECT_TRUE(Register("a.sock").ok());
  EXPECT_TRUE(plugin.Await([](auto& p) { return p.list_calls == 1; }));
}

TEST_F(Registration, AKubeletOfAnotherVersionRefuses) {
  Start();
  kubelet->SpeakVersion("v1");
  FakePlugin plugin;
  plugin.Serve(PluginPath("a.sock"));
  EXPECT_EQ(Register("a.sock").error_message(),
            "requested API version \"v1beta1\" is not supported by kubelet. Supported version is "
            "[\"v1\"]");
}

TEST_F(Registration, AKubeletThatHangsAnswersWhenItGoesOn) {
  Start();
  kubelet->HangInRegister(true);
  FakePlugin plugin;
  plugin.Serve(PluginPath("a.sock"));
  // Only a caller that gives up shows that kubelet has the call, as kubelet then refuses it.
  std::counting_semaphore<> refused{0};
  kubelet->SetListener([&](const KubeletEvent&) { refused.release(); });
  for (Duration limit{50}; !refused.try_acquire_for(limit); limit *= 2) {
    ASSERT_EQ(Register("a.sock", kNpu, "v1beta1", limit).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  kubelet->SetListener({});
  EXPECT_EQ(plugin.Read(&FakePlugin::options_calls), 0);
  auto answer = std::async(std::launch::async, [this] { return Register("a.sock").ok(); });

  kubelet->HangInRegister(false);

  EXPECT_TRUE(answer.get());
}

TEST_F(Registration, WipingTheDirectoryTakesThePluginsSocketsOnly) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  ASSERT_TRUE(kubelet->WipeSocketDirectory());
  EXPECT_FALSE(os::Exists(PluginPath("a.sock")));
  EXPECT_TRUE(os::Exists(PluginPath("kubelet.sock")));
  EXPECT_EQ(Npu().allocatable, 4);
}

}  // namespace
}  // namespace tessera::kubelet::embedded
