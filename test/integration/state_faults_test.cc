// SPDX-License-Identifier: Apache-2.0
// The state directory becomes read-only, loses its permissions or runs full while the agent runs.
#include <csignal>

#include "agent_fixture.h"
#include "os/files.h"
#include "preload_control.h"

namespace tessera {
namespace {

using faults::Refusal;
using Texts = std::vector<std::string>;

struct Cause {
  const char* name;
  Refusal refusal;
  const char* reason;
  const char* error;  // DIR and PID stand for values that a test learns later
};

// For the names of tests.
void PrintTo(const Cause& cause, std::ostream* out) {
  *out << cause.name;
}

class StateFaultsTest : public AgentTest, public testing::WithParamInterface<Cause> {
 protected:
  std::string Message() const {
    std::string text = GetParam().error;
    text.replace(text.find("DIR"), 3, dir_);
    return text.replace(text.find("PID"), 3, std::to_string(agent_.pid()));
  }

  bool AwaitAnswer(const std::string& path, const std::string& start) {
    return Await([&] { return Answered(path).starts_with(start); });
  }

  PreloadControl control_{dir_ + "/control"};
};

constexpr char kGood[] = R"(tessera_state_writes_total{result="good"})";
constexpr char kFailedWrites[] = R"(tessera_state_writes_total{result="failed"})";
constexpr char kStateFault[] = R"(tessera_fault{fault="state"})";

TEST_P(StateFaultsTest, GrantsAndListsGoOnAndSavingIsResumedWhenItsCauseEnds) {
  WriteConfig(WithRecovery(Config("  - {name: dummy.com/npu, dummy: {count: 4, faultFile: " + dir_ +
                                  "/faults/npu.json}}\n"),
                           "1h"));
  StartKubelet();
  agent_ = StartAgent(control_.Before());
  Expect(kNpu, 4, 4);
  ASSERT_TRUE(AwaitMetric(kGood, 2));

  control_->refusal = GetParam().refusal;
  const auto refused = Order("/cordon", {{"device", "2"}, {"reason", "loud"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the order holds until the agent restarts: " + Message());
  Expect(kNpu, 4, 3);
  Fault("fail", "3", "on fire");
  Expect(kNpu, 4, 2);
  EXPECT_TRUE(Run("a", {{kNpu, 1}}).admitted);
  // Each of these fails to save, and then every tick does.
  ASSERT_TRUE(AwaitMetric(kFailedWrites, 5));
  EXPECT_EQ(LinesWith("cannot save the state"), 1u);
  EXPECT_EQ(LinesWith(std::string("ERROR cannot save the state reason=") + GetParam().reason +
                      " error=\"" + Message() + "\" advice="),
            1u);
  EXPECT_EQ(Registrations(kNpu), 1);
  EXPECT_EQ(MetricNow(kStateFault), 1);
  // The page names the newest failure. Until the next tick that may be the write of device 3's
  // verdict.
  EXPECT_TRUE(AwaitAnswer("/healthz", "200 ok\nstate: " + Message() + " ["));
  EXPECT_TRUE(AwaitAnswer("/readyz", "503 state: " + Message() + " ["));

  control_->refusal = Refusal::kNothing;
  ASSERT_TRUE(AwaitLog("INFO the state is saved again\n"));
  EXPECT_EQ(MetricNow(kStateFault), 0);
  EXPECT_EQ(Answered("/readyz"), "200 ok\n");
  EXPECT_EQ(LinesWith("cannot save the state"), 1u);

  // All of it is saved: the cordon, and the verdict of a device whose fault is gone.
  EndAgent(SIGKILL);
  ASSERT_TRUE(os::RemoveTree(dir_ + "/faults"));
  EventsSoFar(kubelet::KubeletEvent::Kind::kList);
  agent_ = StartAgent();
  EXPECT_EQ(ListsUntil(ListOf(2, 4)), Texts{ListOf(2, 4)});
}

INSTANTIATE_TEST_SUITE_P(
    When, StateFaultsTest,
    testing::Values(Cause{"ItIsReadOnly", Refusal::kChanges, "io",
                          "cannot create DIR/state/state.jsonl.tmpPID: Read-only file system"},
                    Cause{"ItMayNotBeWritten", Refusal::kNames, "permission",
                          "cannot create DIR/state/state.jsonl.tmpPID: Permission denied"},
                    Cause{"ItIsFull", Refusal::kWrites, "io",
                          "cannot write DIR/state/state.jsonl.tmpPID: No space left on device"}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace tessera
