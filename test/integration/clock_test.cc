// SPDX-License-Identifier: Apache-2.0
// The time of day jumps while the agent runs, and must change no behaviour. The time since boot
// jumps where a test cannot wait.
#include "agent_fixture.h"
#include "notify_socket.h"
#include "os/files.h"
#include "preload_control.h"

namespace tessera {
namespace {

using Texts = std::vector<std::string>;

constexpr int64_t kYear = int64_t{365} * 24 * 3'600 * 1'000'000'000;

struct Jump {
  const char* name;
  int64_t ns;
};

// For the names of tests.
void PrintTo(const Jump& jump, std::ostream* out) {
  *out << jump.name;
}

class ClockTest : public AgentTest, public testing::WithParamInterface<Jump> {
 protected:
  PreloadControl control_{dir_ + "/control"};
};

constexpr char kCompared[] = R"(tessera_ledger_reconciliations_total{result="good"})";

TEST_P(ClockTest, AClockThatJumpsAYearChangesNothing) {
  WriteConfig(Config(kFour));
  StartKubelet();
  agent_ = StartAgent(control_.Before());
  Expect(kNpu, 4, 4);
  kubelet::Admission pod = Run("a", {{kNpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  const std::string checks =
      R"(tessera_health_checks_total{resource="dummy.com/npu",result="good"})";
  // While one device is sick, the agent checks all of them again and again.
  Fault("fail", "3", "on fire");
  Expect(kNpu, 4, 3);
  ASSERT_TRUE(AwaitMetric(checks, 8));

  const int compared = MetricNow(kCompared);
  control_->clock_jump_ns = GetParam().ns;

  // Twenty rounds of checks, and a comparison of the ledger.
  EXPECT_TRUE(AwaitMetric(checks, 68));
  EXPECT_TRUE(AwaitMetric(kCompared, compared + 1));
  EXPECT_EQ(Status(kNpu).allocatable, 3);
  EXPECT_EQ(Registrations(kNpu), 1);
  EXPECT_EQ(EventsSoFar(kubelet::KubeletEvent::Kind::kStreamEnded), Texts{});
  // Waits and deadlines work as before.
  Fault("heal", "3");
  Expect(kNpu, 4, 4);
  const Steady ended = SystemClock().Now();
  ASSERT_TRUE(kubelet_->DropStream(kNpu));
  ExpectSoon(kNpu, 4, 4, ended);
  EXPECT_EQ(kubelet_->GrantsOf("default", "a")[0].ids, pod.grants[0].ids);
  EXPECT_TRUE(Run("b", {{kNpu, 3}}).admitted);
  // The agent saw the jump: a log line begins with the year.
  const std::string log = Log();
  EXPECT_NE(log.substr(log.rfind('\n', log.size() - 2) + 1, 4), log.substr(0, 4));
}

TEST_P(ClockTest, ARegistrationUnderWayAtTheJumpEndsAsItWould) {
  WriteConfig(Config(kFour));
  StartKubelet();
  kubelet_->HangInRegister(true);
  agent_ = StartAgent(control_.Before());
  ASSERT_TRUE(AwaitPage("/inventory", [](const json::Object& page) {
    const json::Array* resources = json::GetArray(page, "resources");
    return resources != nullptr && !resources->empty() &&
           json::GetString(resources->at(0).as_object(), "state") == "registering";
  }));

  control_->clock_jump_ns = GetParam().ns;
  const Steady ended = SystemClock().Now();
  kubelet_->HangInRegister(false);

  ExpectSoon(kNpu, 4, 4, ended);
  EXPECT_EQ(Registrations(kNpu), 1);
}

INSTANTIATE_TEST_SUITE_P(By, ClockTest,
                         testing::Values(Jump{"AYearForth", kYear}, Jump{"AYearBack", -kYear}),
                         testing::PrintToStringParamName());

class UptimeTest : public AgentTest {};

// The service manager would end the agent, and with it the resources that work.
TEST_F(UptimeTest, TheServiceManagerWaitsForWhatCannotBeCheckedNoLongerThan45Seconds) {
  NotifySocket manager(dir_ + "/notify");
  PreloadControl control(dir_ + "/control");
  WriteConfig(
      Config(std::string(kFour) + "  - {name: dummy.com/tpu, env: TPUS, dummy: {count: 2}}\n"));
  ASSERT_TRUE(os::MakeDirectories(dir_ + "/state/dummy"));
  FaultOf("dummy.com/tpu", "lose-all");
  StartKubelet();
  std::vector<std::string> before = control.Before();
  before.push_back("NOTIFY_SOCKET=" + dir_ + "/notify");
  agent_ = StartAgent(before);
  Expect(kNpu, 4, 4);
  ASSERT_TRUE(AwaitMetric(R"(tessera_scans_total{resource="dummy.com/tpu",result="failed"})", 1));
  EXPECT_EQ(manager.Next(MSG_DONTWAIT), "");

  control->uptime_jump_ns = int64_t{45} * 1'000'000'000;

  EXPECT_EQ(manager.Next(), "READY=1");
  EXPECT_EQ(Status(kNpu).allocatable, 4);
}

}  // namespace
}  // namespace tessera
