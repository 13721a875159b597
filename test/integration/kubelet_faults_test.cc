// SPDX-License-Identifier: Apache-2.0
// Faults of kubelet: how soon the agent is registered again, and what it reports until then.
#include <csignal>

#include "agent_fixture.h"

namespace tessera {
namespace {

constexpr char kHungUp[] = "INFO kubelet hung up resource=dummy.com/npu reason=stream-ended\n";

constexpr char kRegistered[] = R"(tessera_registrations_total{resource="dummy.com/npu",code="ok"})";

class KubeletFaultsTest : public AgentTest {
 protected:
  void StartWithPod() {
    StartAll(kFour);
    Expect(kNpu, 4, 4);
    pod_ = Run("a", {{kNpu, 1}});
    ASSERT_TRUE(pod_.admitted) << pod_.message;
    // Kubelet may read the list before its answer to Register arrives. A stream that ends in
    // between would make the answer worthless.
    ASSERT_TRUE(AwaitMetric(kRegistered, 1));
  }
  void EndKubelet() {
    kubelet_->Stop();
    kubelet_.reset();
  }
  // The agent's next Register call hangs.
  void HangInRegister() {
    kubelet_->HangInRegister(true);
    ASSERT_TRUE(kubelet_->DropStream(kNpu));
    ASSERT_TRUE(AwaitState("registering"));
  }
  // Waits for the state of the agent's one resource on the inventory page.
  bool AwaitState(const std::string& state) {
    return AwaitPage("/inventory", [&](const json::Object& page) {
      const json::Array* resources = json::GetArray(page, "resources");
      return resources != nullptr && !resources->empty() &&
             json::GetString(resources->at(0).as_object(), "state") == state;
    });
  }
  // After `end` has ended the cause, all is soon as before, the pod included. The log has `said`
  // once.
  template <class End>
  void ExpectBackSoonAfter(End end, const std::string& said = kHungUp) {
    const int before = Registrations(kNpu);
    const Steady ended = SystemClock().Now();
    end();
    ASSERT_TRUE(AwaitRegistrations(kNpu, before + 1));
    ExpectSoon(kNpu, 4, 4, ended);
    EXPECT_EQ(kubelet_->GrantsOf("default", "a")[0].ids, pod_.grants[0].ids);
    RunUntilAdmitted("b", {{kNpu, 3}});
    EXPECT_EQ(LinesWith(said), 1u);
    EXPECT_TRUE(AwaitMetric(kRegistered, 2));
  }

  kubelet::Admission pod_;
};

TEST_F(KubeletFaultsTest, AKubeletThatNeverComesBackIsWaitedForInOneLine) {
  StartWithPod();

  EndKubelet();

  ASSERT_TRUE(AwaitLog("WARN waiting for kubelet resource=dummy.com/npu reason=kubelet-absent "));
  constexpr char kFailed[] = R"(tessera_ledger_reconciliations_total{result="failed"})";
  ASSERT_TRUE(AwaitMetric(kFailed, MetricNow(kFailed) + 2));
  EXPECT_EQ(LinesWith("WARN waiting for kubelet "), 1u);
  EXPECT_NE(Get("/metrics").find("\ntessera_streams{resource=\"dummy.com/npu\"} 0\n"),
            std::string::npos);
  agent_.Signal(SIGTERM);
  EXPECT_EQ(agent_.Wait(), 0);
}

TEST_F(KubeletFaultsTest, AfterARestartOfKubeletTheAgentIsBackWithinASecond) {
  StartWithPod();
  EndKubelet();
  // The next kubelet removes the socket, which the agent could see before the hang-up.
  ASSERT_TRUE(AwaitLog(kHungUp));

  ExpectBackSoonAfter([&] { StartKubelet(); });
}

TEST_F(KubeletFaultsTest, AfterADroppedStreamTheAgentIsBackWithinASecond) {
  StartWithPod();

  ExpectBackSoonAfter([&] { EXPECT_TRUE(kubelet_->DropStream(kNpu)); });
}

TEST_F(KubeletFaultsTest, AfterItsSocketWasRemovedTheAgentIsBackWithinASecond) {
  StartWithPod();

  const std::string socket = OwnSockets().at(0);
  ExpectBackSoonAfter([&] { EXPECT_TRUE(kubelet_->WipeSocketDirectory()); },
                      fmt::format("INFO socket was removed resource={} socket={}/{}\n", kNpu,
                                  dir_ + "/kubelet/device-plugins", socket));
}

TEST_F(KubeletFaultsTest, AKubeletOfAnotherVersionIsAskedAgainUntilItIsReplaced) {
  StartWithPod();
  kubelet_->SpeakVersion("v1");
  ASSERT_TRUE(kubelet_->DropStream(kNpu));

  EXPECT_TRUE(AwaitMetric(
      R"(tessera_registrations_total{resource="dummy.com/npu",code="register-failed"})", 4));
  EXPECT_EQ(LinesWith("WARN registration failed "), 1u);
  EXPECT_NE(
      Log().find("WARN registration failed resource=dummy.com/npu reason=register-failed "
                 "error=\"registering dummy.com/npu: requested API version \\\"v1beta1\\\" is "
                 "not supported by kubelet. Supported version is [\\\"v1\\\"]\" advice="),
      std::string::npos);
  EndKubelet();
  ExpectBackSoonAfter([&] { StartKubelet(); });
}

TEST_F(KubeletFaultsTest, AKubeletThatHangsInRegisterIsGivenUpForItsSuccessor) {
  StartWithPod();
  HangInRegister();
  kubelet_->Kill();
  kubelet_.reset();

  ExpectBackSoonAfter([&] { StartKubelet(); });
}

TEST_F(KubeletFaultsTest, AKubeletThatHungInRegisterIsRegisteredWithOnceItAnswers) {
  StartWithPod();
  HangInRegister();

  ExpectBackSoonAfter([&] { kubelet_->HangInRegister(false); });
}

TEST_F(KubeletFaultsTest, AKubeletThatNeverAsksIsRegisteredWithAnewAfterTenSecondsByDefault) {
  std::string config = Config(kFour);
  const std::string quick = ", streamTimeout: 1s";
  config.replace(config.find(quick), quick.size(), "");
  WriteConfig(config);
  StartKubelet(kubelet::ConnectionRules::kFrom137);
  kubelet_->AcceptRegisterButNeverStream(true);
  agent_ = StartAgent();
  ASSERT_TRUE(AwaitState("registered"));
  const Steady accepted = SystemClock().Now();

  kubelet_->AcceptRegisterButNeverStream(false);

  Expect(kNpu, 4, 4);
  EXPECT_LT(SystemClock().Now() - accepted, Duration(10'000) + kSoon);
  EXPECT_EQ(
      LinesWith("WARN no stream after registration reason=stream-missing error=\"kubelet accepted "
                "the registration of dummy.com/npu but never asked for its device list\" advice="),
      1u);
  // Kubelet may open its stream before its answer to Register arrives.
  EXPECT_TRUE(Await([this] { return LinesWith("INFO registered resource=dummy.com/npu ") == 2; }));
}

}  // namespace
}  // namespace tessera
