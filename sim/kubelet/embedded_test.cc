// SPDX-License-Identifier: Apache-2.0
// kubelet's start, stop and kill, and the state that outlives them.
#include "sim/kubelet/embedded.h"

#include <poll.h>

#include "kubelet/checkpoint.h"
#include "os/unix_socket.h"
#include "sim/kubelet/fake_plugin_test.h"

namespace tessera::kubelet::embedded {
namespace {

using IdLists = std::vector<std::vector<std::string>>;

class Lifecycle : public NodeTest {};

TEST_F(Lifecycle, StartDeletesSocketsOfDevicePluginsAndNothingElse) {
  ASSERT_TRUE(os::MakeDirectories(PluginPath("sub")));
  ASSERT_TRUE(os::ListenUnix(PluginPath("old.sock")));
  ASSERT_TRUE(os::ListenUnix(PluginPath("sub/old.sock")));
  ASSERT_TRUE(os::WriteFileAtomically(PluginPath("file"), "x"));
  Start();
  EXPECT_FALSE(os::Exists(PluginPath("old.sock")));
  EXPECT_TRUE(os::Exists(PluginPath("sub/old.sock")));
  EXPECT_TRUE(os::Exists(PluginPath("file")));
  EXPECT_TRUE(os::IsListening(PluginPath("kubelet.sock")));
}

TEST_F(Lifecycle, StopRemovesItsSocketsAndCancelsTheStreams) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  kubelet->Stop();
  EXPECT_FALSE(os::Exists(PluginPath("kubelet.sock")));
  EXPECT_FALSE(os::Exists(options.root + "/pod-resources/kubelet.sock"));
  EXPECT_TRUE(plugin.Await([](auto& p) { return p.open_streams == 0; }));
}

TEST_F(Lifecycle, KillLeavesASocketThatNobodyListensOn) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  kubelet->Kill();
  EXPECT_TRUE(os::Exists(PluginPath("kubelet.sock")));
  EXPECT_FALSE(os::IsListening(PluginPath("kubelet.sock")));
  EXPECT_TRUE(plugin.Await([](auto& p) { return p.open_streams == 0; }));
  Start();
  EXPECT_FALSE(os::Exists(PluginPath("a.sock")));
  FakePlugin again;
  Bring(again, "b.sock", 4);
}

TEST_F(Lifecycle, AfterARestartCapacityIsZeroUntilThePluginRegisters) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 4);
  Restart();
  EXPECT_EQ(Npu().name, kNpu);
  EXPECT_EQ(Npu().capacity, 0);
  EXPECT_FALSE(Npu().connected);
  EXPECT_EQ(kubelet->RunPod(OneContainer("pod", 1)).message,
            "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices "
            "dummy.com/npu, which is unexpected");
  FakePlugin again;
  Bring(again, "b.sock", 4);
}

TEST_F(Lifecycle, PodsKeepTheirGrantsThroughARestart) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 2);
  Admission admission = kubelet->RunPod(OneContainer("pod", 1));
  ASSERT_TRUE(admission.admitted);
  kubelet->Kill();
  Start();
  EXPECT_EQ(kubelet->Pods(), std::vector<std::string>{"default/pod"});
  auto grants = kubelet->GrantsOf("default", "pod");
  ASSERT_EQ(grants.size(), 1U);
  EXPECT_EQ(grants[0].ids, admission.grants[0].ids);
  EXPECT_EQ(grants[0].response, admission.grants[0].response);
  FakePlugin again;
  Bring(again, "b.sock", 2);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("other", 1)).admitted);
  EXPECT_NE(kubelet->GrantsOf("default", "other")[0].ids, grants[0].ids);
}

TEST_F(Lifecycle, AnEndedPodDoesNotComeBackAfterARestart) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 2);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("pod", 2)).admitted);
  ASSERT_TRUE(kubelet->EndPod("default", "pod"));
  Restart();
  EXPECT_TRUE(kubelet->Pods().empty());
  FakePlugin again;
  Bring(again, "b.sock", 2);
  EXPECT_TRUE(kubelet->RunPod(OneContainer("next", 2)).admitted);
}

TEST_F(Lifecycle, PreStartIsSkippedAfterARestartUntilThePluginRegisters) {
  Start();
  FakePlugin plugin({.pre_start = true});
  Bring(plugin, "a.sock", 2);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("pod", 1)).admitted);
  Restart();
  EXPECT_TRUE(kubelet->RestartContainer("default", "pod", "app"));
  EXPECT_EQ(plugin.Read(&FakePlugin::pre_started).size(), 1U);
  FakePlugin again({.pre_start = true});
  Bring(again, "b.sock", 2);
  EXPECT_TRUE(kubelet->RestartContainer("default", "pod", "app"));
  EXPECT_EQ(again.Read(&FakePlugin::pre_started),
            (IdLists{kubelet->GrantsOf("default", "pod")[0].ids}));
}

TEST_F(Lifecycle, APodThatNeverStartedIsRefusedAfterARestart) {
  std::vector<std::string> refused;
  FakePlugin plugin({.pre_start = true, .pre_start_answer = [](const auto&) {
                       return grpc::Status(grpc::StatusCode::INTERNAL, "broken");
                     }});
  Start();
  Bring(plugin, "a.sock", 2);
  ASSERT_EQ(kubelet->RunPod(OneContainer("pod", 1)).start_failures.size(), 1U);
  kubelet.reset();
  options.listener = [&](const KubeletEvent& event) {
    if (event.kind == KubeletEvent::Kind::kRefused) refused.push_back(event.text);
  };
  Start();
  EXPECT_TRUE(kubelet->Pods().empty());
  kubelet.reset();
  EXPECT_EQ(refused,
            std::vector<std::string>{
                "pod default/pod was refused: UnexpectedAdmissionError: Allocate failed due to no "
                "healthy devices present; cannot allocate unhealthy devices dummy.com/npu, which "
                "is unexpected"});
}

TEST_F(Lifecycle, ALostCheckpointMakesKubeletAllocateAnewAtTheNextStart) {
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 2);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("pod", 2)).admitted);
  kubelet->Stop();
  ASSERT_TRUE(os::WriteFileAtomically(PluginPath(kCheckpointFile), "{\"Data\":"));
  Start();
  EXPECT_TRUE(kubelet->GrantsOf("default", "pod").empty());
  FakePlugin again;
  Bring(again, "b.sock", 2);
  ASSERT_TRUE(kubelet->RestartContainer("default", "pod", "app"));
  EXPECT_EQ(again.Read(&FakePlugin::allocated), (IdLists{{"0", "1"}}));
}

TEST_F(Lifecycle, AtPreStartTheCheckpointNamesPodContainerAndGrant) {
  Checkpoint seen;
  FakePlugin plugin({.pre_start = true, .pre_start_answer = [&](const auto&) {
                       auto text = os::ReadFile(PluginPath(kCheckpointFile));
                       seen = ParseCheckpoint(text.value_or("")).value_or(Checkpoint{});
                       return grpc::Status::OK;
                     }});
  Start();
  Bring(plugin, "a.sock", 2);
  PodSpec pod = OneContainer("pod", 2);
  pod.containers.front().kind = ContainerSpec::Kind::kInit;
  Admission admission = kubelet->RunPod(pod);
  ASSERT_EQ(seen.entries.size(), 1U);
  EXPECT_EQ(seen.entries[0].pod_uid, admission.uid);
  EXPECT_EQ(seen.entries[0].container, "app");
  EXPECT_EQ(seen.entries[0].ids(), (std::vector<std::string>{"0", "1"}));
  EXPECT_NE(seen.entries[0].allocate_response.find("FAKE_IDS"), std::string::npos);
}

TEST_F(Lifecycle, StopEndsARegisterThatWaits) {
  Start();
  grpc::Status status;
  const auto silent = os::ListenUnix(PluginPath("silent.sock"));
  ASSERT_TRUE(silent);
  std::thread registering([&] { status = Register("silent.sock"); });
  pollfd dialled{.fd = silent->get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&dialled, 1, static_cast<int>(kTestLimit.count())), 1);
  kubelet->Stop();
  registering.join();
  EXPECT_FALSE(status.ok());
}

TEST_F(Lifecycle, NothingRunsAfterStop) {
  Start();
  kubelet->Stop();
  kubelet->Kill();
  EXPECT_EQ(kubelet->RunPod(OneContainer("pod", 1)).reason, "KubeletStopped");
}

TEST_F(Lifecycle, EventsTellTheStoryInOrder) {
  std::vector<KubeletEvent::Kind> kinds;
  options.listener = [&](const KubeletEvent& event) { kinds.push_back(event.kind); };
  Start();
  FakePlugin plugin;
  Bring(plugin, "a.sock", 2);
  ASSERT_TRUE(kubelet->RunPod(OneContainer("pod", 1)).admitted);
  ASSERT_TRUE(kubelet->EndPod("default", "pod"));
  kubelet->Stop();
  using Kind = KubeletEvent::Kind;
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kStarted, Kind::kRegistered, Kind::kStreamOpened,
                                      Kind::kList, Kind::kAdmitted, Kind::kContainerStarted,
                                      Kind::kPodEnded, Kind::kStopped}));
}

}  // namespace
}  // namespace tessera::kubelet::embedded
