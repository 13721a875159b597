// SPDX-License-Identifier: Apache-2.0
// Kubelet and the agent start, end and restart in any order.
#include <atomic>
#include <csignal>
#include <set>
#include <thread>

#include "agent_fixture.h"
#include "os/files.h"
#include "os/unix_socket.h"

namespace tessera {
namespace {

class RestartTest : public AgentTest {};

TEST_F(RestartTest, AKilledAgentComesBackWithTheSameDevicesAndKeepsThePod) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  kubelet::Admission pod = Run("a", {{kNpu, 2}});
  ASSERT_TRUE(pod.admitted) << pod.message;

  EndAgent(SIGKILL);
  const Steady ended = SystemClock().Now();
  agent_ = StartAgent();

  ExpectSoon(kNpu, 4, 4, ended);
  EXPECT_EQ(kubelet_->GrantsOf("default", "a")[0].ids, pod.grants[0].ids);
  kubelet::Admission next = Run("b", {{kNpu, 2}});
  ASSERT_TRUE(next.admitted) << next.message;
  EXPECT_EQ(next.grants[0].ids, (std::vector<std::string>{"2", "3"}));
}

TEST_F(RestartTest, SocketsOfAKilledAgentAreRemovedByTheNext) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);

  EndAgent(SIGKILL);
  agent_ = StartAgent();
  Expect(kNpu, 4, 4);

  EXPECT_EQ(OwnSockets().size(), 1u);
}

struct Case {
  const char* name;
  kubelet::ConnectionRules rules;
  bool kill;
};

// For the names of tests.
void PrintTo(const Case& which, std::ostream* out) {
  *out << which.name;
}

class KubeletRestartTest : public AgentTest, public testing::WithParamInterface<Case> {};

TEST_P(KubeletRestartTest, TheAgentRegistersAgainAndThePodIsKept) {
  WriteConfig(Config(kFour));
  StartKubelet(GetParam().rules);
  agent_ = StartAgent();
  Expect(kNpu, 4, 4);
  kubelet::Admission pod = Run("a", {{kNpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;

  if (GetParam().kill) {
    kubelet_->Kill();
  } else {
    kubelet_->Stop();
  }
  kubelet_.reset();
  const Steady ended = SystemClock().Now();
  StartKubelet(GetParam().rules);

  ExpectSoon(kNpu, 4, 4, ended);
  EXPECT_EQ(kubelet_->GrantsOf("default", "a")[0].ids, pod.grants[0].ids);
}

INSTANTIATE_TEST_SUITE_P(Rules, KubeletRestartTest,
                         testing::Values(Case{"Stop136", kubelet::ConnectionRules::kUpTo136, false},
                                         Case{"Kill136", kubelet::ConnectionRules::kUpTo136, true},
                                         Case{"Stop137", kubelet::ConnectionRules::kFrom137, false},
                                         Case{"Kill137", kubelet::ConnectionRules::kFrom137, true}),
                         testing::PrintToStringParamName());

TEST_F(RestartTest, AnAgentThatIsFirstWaitsForKubelet) {
  WriteConfig(Config(kFour));
  agent_ = StartAgent();
  ASSERT_TRUE(AwaitPage("/inventory", [](const json::Object& page) {
    const json::Array* devices = json::GetArray(page, "devices");
    return devices != nullptr && devices->size() == 4;
  }));

  const Steady ended = SystemClock().Now();
  StartKubelet();

  ExpectSoon(kNpu, 4, 4, ended);
}

TEST_F(RestartTest, ASocketThatAKilledKubeletLeftIsNotTakenForKubelet) {
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/kubelet/device-plugins"));
  {
    auto left = os::ListenUnix(dir_ + "/kubelet/device-plugins/kubelet.sock");
  }
  WriteConfig(Config(kFour));
  agent_ = StartAgent();
  ASSERT_TRUE(AwaitPage("/inventory", [](const json::Object& page) {
    const json::Array* resources = json::GetArray(page, "resources");
    return resources != nullptr && !resources->empty() &&
           json::GetString(resources->at(0).as_object(), "state") == "waiting";
  }));

  const Steady ended = SystemClock().Now();
  StartKubelet();

  ExpectSoon(kNpu, 4, 4, ended);
}

TEST_F(RestartTest, ADirectoryDeletedUnderItsMountEndsTheAgentWithAMessage) {
  if (!WhyNoMounts().empty()) GTEST_SKIP() << WhyNoMounts();
  // As in a container: device-plugins is a bind mount in the agent's own mount namespace.
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/host"));
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/kubelet/device-plugins"));
  WriteConfig(WithPolling(Config(kFour)));  // no event: the mount keeps the directory
  agent_ =
      StartAgent(WithMounts("mount --bind " + dir_ + "/host " + dir_ + "/kubelet/device-plugins"));
  ASSERT_TRUE(AwaitPage("/inventory", [](const json::Object& page) { return !page.empty(); }));

  ASSERT_TRUE(os::RemoveTree(dir_ + "/host"));

  EXPECT_EQ(agent_.Wait(), 1);
  EXPECT_NE(Log().find("the agent cannot continue reason=directory-gone error=\"" + dir_ +
                       "/kubelet/device-plugins was deleted on the host while mounted here\""),
            std::string::npos);
}

TEST_F(RestartTest, AStreamThatKubeletDropsIsRegisteredAgain) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  int before = Registrations(kNpu);

  const Steady ended = SystemClock().Now();
  ASSERT_TRUE(kubelet_->DropStream(kNpu));

  ExpectSoon(kNpu, 4, 4, ended);
  EXPECT_GT(Registrations(kNpu), before);
}

TEST_F(RestartTest, ARegistrationWithoutAStreamIsRepeatedUnderAnotherName) {
  WriteConfig(Config(kFour));
  StartKubelet(kubelet::ConnectionRules::kFrom137);
  kubelet_->AcceptRegisterButNeverStream(true);
  agent_ = StartAgent();
  ASSERT_TRUE(AwaitPage("/inventory", [](const json::Object& page) {
    const json::Array* resources = json::GetArray(page, "resources");
    return resources != nullptr && !resources->empty() &&
           json::GetString(resources->at(0).as_object(), "state") == "registered";
  }));
  const std::vector<std::string> before = OwnSockets();

  EXPECT_TRUE(AwaitMetric(
      R"(tessera_registrations_total{resource="dummy.com/npu",code="stream-missing"})", 2));
  kubelet_->AcceptRegisterButNeverStream(false);

  Expect(kNpu, 4, 4);
  EXPECT_EQ(
      LinesWith("WARN no stream after registration reason=stream-missing error=\"kubelet accepted "
                "the registration of dummy.com/npu but never asked for its device list\" advice="),
      1u);
  ASSERT_EQ(OwnSockets().size(), 1u);
  EXPECT_NE(OwnSockets(), before);
}

TEST_F(RestartTest, AWipedSocketDirectoryIsNoticed) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  int before = Registrations(kNpu);

  ASSERT_TRUE(kubelet_->WipeSocketDirectory());
  kubelet_->Kill();
  kubelet_.reset();
  const Steady ended = SystemClock().Now();
  StartKubelet();

  ExpectSoon(kNpu, 4, 4, ended);
  EXPECT_GT(Registrations(kNpu), before);
}

TEST_F(RestartTest, AReplacedDirectoryIsNoticed) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  kubelet_->Stop();
  kubelet_.reset();

  // Moved away first, as the agent may make a socket in it during the removal.
  ASSERT_EQ(rename((dir_ + "/kubelet").c_str(), (dir_ + "/former").c_str()), 0);
  ASSERT_TRUE(os::RemoveTree(dir_ + "/former"));
  const Steady ended = SystemClock().Now();
  StartKubelet();

  ExpectSoon(kNpu, 4, 4, ended);
}

TEST_F(RestartTest, ThePluginWatcherServesAsWell) {
  WriteConfig(Config(kFour) + "# by the watcher\n");
  std::string text = Config(kFour);
  text.replace(text.find("pollInterval"), 0, "registration: plugin-watcher, ");
  WriteConfig(text);
  StartKubelet();
  agent_ = StartAgent();
  Expect(kNpu, 4, 4);

  kubelet_->Stop();
  kubelet_.reset();
  const Steady ended = SystemClock().Now();
  StartKubelet();

  ExpectSoon(kNpu, 4, 4, ended);
  EXPECT_TRUE(Run("a", {{kNpu, 1}}).admitted);
}

// An update's new instance starts before the former one ends.
TEST_F(RestartTest, From137OnAnUpdateRefusesNoPodAndLosesNoDevice) {
  WriteConfig(Config(kFour));
  StartKubelet(kubelet::ConnectionRules::kFrom137);
  agent_ = StartAgent();
  ListsUntil(ListOf(4, 4));
  ASSERT_TRUE(AwaitSaved(4));
  const int before = Registrations(kNpu);
  std::atomic<bool> updated = false;
  std::atomic<int> admitted = 0;
  std::vector<std::string> refused;
  std::set<int> allocatable;
  std::thread pods([&] {
    for (int i = 0; !updated; ++i) {
      const std::string name = fmt::format("pod-{}", i);
      const kubelet::Admission pod = Run(name, {{kNpu, 4}});
      allocatable.insert(Status(kNpu).allocatable);
      if (!pod.admitted) {
        refused.push_back(pod.message);
      } else if (kubelet_->EndPod("default", name)) {
        ++admitted;
      }
    }
  });
  const auto await_pods = [&] {
    return Await([&, enough = admitted + 3] { return admitted >= enough; });
  };

  EXPECT_TRUE(await_pods());
  os::Process second = StartAgent();
  EXPECT_TRUE(AwaitRegistrations(kNpu, before + 1));
  ListsUntil(ListOf(4, 4));
  EXPECT_TRUE(await_pods());  // no pod is left for which kubelet had chosen the first instance
  agent_.Signal(SIGTERM);
  EXPECT_EQ(agent_.Wait(), 0);
  agent_ = std::move(second);
  EXPECT_TRUE(await_pods());
  updated = true;
  pods.join();

  EXPECT_EQ(refused, std::vector<std::string>());
  EXPECT_EQ(allocatable, std::set<int>{4});
}

class TwoInstancesTest : public AgentTest,
                         public testing::WithParamInterface<kubelet::ConnectionRules> {};

TEST_P(TwoInstancesTest, TheOneThatStaysServesAfterTheOtherHasGone) {
  WriteConfig(Config(kFour));
  StartKubelet(GetParam());
  agent_ = StartAgent();
  ListsUntil(ListOf(4, 4));
  int before = Registrations(kNpu);
  os::Process second = StartAgent();
  ASSERT_TRUE(AwaitRegistrations(kNpu, before + 1));
  ListsUntil(ListOf(4, 4));  // the second instance's: its stream is open

  agent_.Signal(SIGTERM);
  EXPECT_EQ(agent_.Wait(), 0);
  agent_ = std::move(second);
  const Steady ended = SystemClock().Now();

  // Up to 1.36 kubelet ends both streams when one instance goes.
  if (GetParam() == kubelet::ConnectionRules::kUpTo136) {
    ASSERT_TRUE(AwaitRegistrations(kNpu, before + 2));
  }
  ExpectSoon(kNpu, 4, 4, ended);
  RunUntilAdmitted("a", {{kNpu, 4}});
  EXPECT_TRUE(AwaitPage("/inventory", [](const json::Object& page) {
    const json::Object* agent = json::GetObject(page, "agent");
    return agent != nullptr && json::GetBool(*agent, "writer").value_or(false);
  }));
}

TEST_P(TwoInstancesTest, TheFirstServesOnWhenTheSecondGoes) {
  WriteConfig(Config(kFour));
  StartKubelet(GetParam());
  agent_ = StartAgent();
  Expect(kNpu, 4, 4);
  int before = Registrations(kNpu);
  os::Process second = StartAgent();
  ASSERT_TRUE(AwaitRegistrations(kNpu, before + 1));

  second.Signal(SIGTERM);
  EXPECT_EQ(second.Wait(), 0);

  // Kubelet up to 1.36 may have hung up on the first instance when the second came; the first has
  // registered again. From 1.37 on kubelet calls the second until it has seen its stream end. Pods
  // in between are refused, and only kubelet could change that.
  RunUntilAdmitted("a", {{kNpu, 4}});
}

INSTANTIATE_TEST_SUITE_P(Rules, TwoInstancesTest,
                         testing::Values(kubelet::ConnectionRules::kUpTo136,
                                         kubelet::ConnectionRules::kFrom137),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tessera
