// SPDX-License-Identifier: Apache-2.0
// How the agent ends after a signal.
#include <csignal>
#include <thread>

#include "agent_fixture.h"
#include "os/files.h"

namespace tessera {
namespace {

using Texts = std::vector<std::string>;
using Kind = kubelet::KubeletEvent::Kind;

// Two seconds are promised, and it takes a twentieth of that. The rest is for a busy machine. The
// obstacles of these tests would last an hour.
constexpr Duration kStopLimit{10'000};

struct StopSignal {
  const char* name;
  int number;
};

// For the names of tests.
void PrintTo(const StopSignal& signal, std::ostream* out) {
  *out << signal.name;
}

class StopTest : public AgentTest {
 protected:
  // How long the agent takes to end after the signal, with exit status 0.
  Duration Stop(int signal) {
    Steady began = SystemClock().Now();
    agent_.Signal(signal);
    EXPECT_EQ(agent_.Wait(), 0);
    return SystemClock().Now() - began;
  }
};

class StopSignalTest : public StopTest, public testing::WithParamInterface<StopSignal> {};

TEST_P(StopSignalTest, EndsTheStreamRemovesTheSocketsAndExitsWithZero) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);

  EXPECT_LT(Stop(GetParam().number), kStopLimit);

  // Go's error when a plugin returns from ListAndWatch without one.
  const std::string ended = "the list of dummy.com/npu ended: EOF";
  EXPECT_EQ(EventsUntil(Kind::kStreamEnded, ended), Texts{ended});
  EXPECT_EQ(OwnSockets(), Texts{});
  EXPECT_FALSE(os::Exists(dir_ + "/agent.sock"));
}

INSTANTIATE_TEST_SUITE_P(Signals, StopSignalTest,
                         testing::Values(StopSignal{"TERM", SIGTERM}, StopSignal{"INT", SIGINT},
                                         StopSignal{"QUIT", SIGQUIT}),
                         testing::PrintToStringParamName());

// Kubelet's call PreStartContainer waits for the reset, which takes an hour, while the agent stops.
TEST_F(StopTest, AResetThatHangsDoesNotHoldUpTheEnd) {
  StartAll("  - {name: dummy.com/npu, dummy: {count: 4, reset: before-start}}\n",
           "log: {level: debug}\n");
  Expect(kNpu, 4, 4);
  ASSERT_TRUE(Run("a", {{kNpu, 1}}).admitted);
  Fault("slow", "0", "1h");
  ASSERT_TRUE(AwaitLog("the fault file counts"));
  tessera::Status restarted;
  std::thread restart([&] { restarted = kubelet_->RestartContainer("default", "a", "main"); });
  EXPECT_TRUE(AwaitLog("pre-start resource=dummy.com/npu ids=0"));

  EXPECT_LT(Stop(SIGTERM), kStopLimit);

  restart.join();
  EXPECT_FALSE(restarted);
  EXPECT_EQ(OwnSockets(), Texts{});
}

}  // namespace
}  // namespace tessera
