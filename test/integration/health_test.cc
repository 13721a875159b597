// SPDX-License-Identifier: Apache-2.0
// Devices that break, and the lists and verdicts that follow.
#include <unistd.h>

#include <csignal>
#include <thread>

#include "agent_fixture.h"
#include "os/files.h"

namespace tessera {
namespace {

bool Healthy(const kubelet::ResourceStatus& status, const std::string& id) {
  for (const auto& device : status.devices) {
    if (device.id == id) return device.healthy;
  }
  return false;
}

class HealthTest : public AgentTest {};

TEST_F(HealthTest, AFailedDeviceIsTakenOutAndComesBack) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);

  Fault("fail", "2", "on fire");
  Expect(kNpu, 4, 3);
  EXPECT_FALSE(Healthy(Status(kNpu), "2"));

  Fault("heal", "2");
  Expect(kNpu, 4, 4);
}

TEST_F(HealthTest, ASickDeviceStaysSickAcrossAKillOfTheAgent) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  Fault("fail", "2", "on fire");
  Expect(kNpu, 4, 3);

  EndAgent(SIGKILL);
  agent_ = StartAgent();

  // The new agent's first list already shows the fault: kubelet never sees 4 healthy devices.
  Expect(kNpu, 4, 3);
  EXPECT_FALSE(Healthy(Status(kNpu), "2"));
}

TEST_F(HealthTest, ACheckThatHangsCostsOnlyItsOwnDevice) {
  WriteConfig(WithQuickChecks(Config(kFour)));
  StartKubelet();
  agent_ = StartAgent();
  Expect(kNpu, 4, 4);

  Fault("slow", "1", "1h");

  Expect(kNpu, 4, 3);
  EXPECT_FALSE(Healthy(Status(kNpu), "1"));
}

TEST_F(HealthTest, AHeldDeviceThatIsUnpluggedStaysInTheListUnhealthy) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  kubelet::Admission pod = Run("a", {{kNpu, 1}});
  ASSERT_EQ(pod.grants[0].ids, std::vector<std::string>{"0"});

  Fault("hide", "0");

  Expect(kNpu, 4, 3);
  EXPECT_FALSE(Healthy(Status(kNpu), "0"));
}

TEST_F(HealthTest, AnUnheldDeviceThatIsUnpluggedLeavesAndComesBack) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  ASSERT_TRUE(AwaitPage("/ledger", [](const json::Object& page) {
    return json::GetBool(page, "reconciled").value_or(false);
  }));

  Fault("hide", "3");
  Expect(kNpu, 3, 3);

  Fault("show", "3");
  Expect(kNpu, 4, 4);
}

TEST_F(HealthTest, WhenTheWholeBusIsLostTheListStaysUnhealthyAndComesBack) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  const kubelet::Admission pod = Run("a", {{kNpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;

  Fault("lose-all");
  Expect(kNpu, 4, 0);
  EXPECT_TRUE(AwaitLog(
      "WARN device unhealthy device=dummy.com/npu/3 from=healthy reason=fatal-event error=\"the "
      "whole bus is gone\" advice=\"look at the device; it returns by itself once its checks pass "
      "again\"\n"));
  EXPECT_EQ(MetricNow(R"(tessera_devices{resource="dummy.com/npu",state="unhealthy"})"), 4);

  Fault("restore");
  Expect(kNpu, 4, 4);
  EXPECT_EQ(kubelet_->GrantsOf("default", "a")[0].ids, pod.grants[0].ids);
}

// The sleeps make the fault's rate; no assertion waits by them.
TEST_F(HealthTest, OfADeviceThatFlapsTenTimesASecondOneListIsSent) {
  using Texts = std::vector<std::string>;
  WriteConfig(WithRecovery(Config(kFour), "1h"));
  StartKubelet();
  agent_ = StartAgent();
  Expect(kNpu, 4, 4);
  const kubelet::Admission pod = Run("a", {{kNpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  // Until then the agent may send a list again, so that kubelet writes its checkpoint.
  ASSERT_TRUE(LedgerKnows("a"));

  const Steady began = SystemClock().Now();
  for (int i = 0; i < 40; ++i) {
    SetFaults(i % 2 == 0 ? json::Object{{"2", {{"fail", "loose"}}}} : json::Object());
    std::this_thread::sleep_until(began + (i + 1) * Duration(50));
  }

  EXPECT_EQ(ListsUntil(ListOf(3, 4)).back(), ListOf(3, 4));
  EXPECT_EQ(EventsSoFar(kubelet::KubeletEvent::Kind::kList), Texts{});
  EXPECT_TRUE(
      AwaitLog("WARN device unhealthy device=dummy.com/npu/2 from=healthy reason=fatal-event "
               "error=loose advice="));
  WriteConfig(Config(kFour));
  Expect(kNpu, 4, 4);
  EXPECT_EQ(kubelet_->GrantsOf("default", "a")[0].ids, pod.grants[0].ids);
}

TEST_F(HealthTest, ADeviceThatReturnsUnderAnotherIndexIsTheSameDeviceAtItsNewPlace) {
  const std::string data = dir_ + "/data";
  const auto plug = [&](const std::string& serial, const std::string& index) {
    ASSERT_TRUE(os::WriteFileAtomically(data + "/npu" + index, serial));
    ASSERT_EQ(symlink(("../npu" + index).c_str(), (data + "/by-id/" + serial).c_str()), 0);
  };
  ASSERT_TRUE(os::MakeDirectories(data + "/by-id"));
  plug("A", "0");
  plug("B", "1");
  StartAll("  - name: dummy.com/npu\n    files: {groups: [{paths: [{path: \"" + data +
           "/by-id/*\", mount: true}]}]}\n");
  Expect(kNpu, 2, 2);
  kubelet::Admission pod = Run("a", {{kNpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  EXPECT_EQ(pod.grants[0].response.mounts[0].host_path, data + "/npu0");

  ASSERT_TRUE(os::RemoveFile(data + "/by-id/A"));
  ASSERT_TRUE(os::RemoveFile(data + "/npu0"));
  Expect(kNpu, 2, 1);
  EXPECT_FALSE(Healthy(Status(kNpu), pod.grants[0].ids[0]));
  plug("A", "7");
  Expect(kNpu, 2, 2);

  EXPECT_EQ(kubelet_->GrantsOf("default", "a")[0].ids, pod.grants[0].ids);
  ASSERT_TRUE(kubelet_->EndPod("default", "a"));
  kubelet::Admission next = Run("b", {{kNpu, 1}});
  ASSERT_TRUE(next.admitted) << next.message;
  EXPECT_EQ(next.grants[0].ids, pod.grants[0].ids);
  EXPECT_EQ(next.grants[0].response.mounts[0].host_path, data + "/npu7");
  // Its check or a scan may notice first. They say it in different words.
  EXPECT_EQ(
      LinesWith(fmt::format("WARN device unhealthy device={}/{} from=healthy reason=vanished ",
                            kNpu, pod.grants[0].ids[0])),
      1u);
  EXPECT_EQ(MetricNow(R"(tessera_health_transitions_total{resource="dummy.com/npu",from="healthy",)"
                      R"(to="unhealthy",reason="vanished"})"),
            1);
}

TEST_F(HealthTest, ACordonHoldsAcrossARestartUntilItIsLifted) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  ASSERT_TRUE(Order("/cordon", {{"device", "3"}, {"reason", "loud fan"}}));
  Expect(kNpu, 4, 3);

  EndAgent(SIGKILL);
  agent_ = StartAgent();
  Expect(kNpu, 4, 3);

  ASSERT_TRUE(Order("/uncordon", {{"device", "3"}}));
  Expect(kNpu, 4, 4);
}

}  // namespace
}  // namespace tessera
