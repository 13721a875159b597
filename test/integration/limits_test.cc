// SPDX-License-Identifier: Apache-2.0
// A machine that has no more to give.
#include <sys/resource.h>

#include <fstream>

#include "agent_fixture.h"
#include "os/files.h"
#include "os/unix_socket.h"

namespace tessera {
namespace {

constexpr char kFailed[] = R"(tessera_ledger_reconciliations_total{result="failed"})";

class LimitsTest : public AgentTest {
 protected:
  rlimit Descriptors() {
    rlimit now{};
    EXPECT_EQ(prlimit(agent_.pid(), RLIMIT_NOFILE, nullptr, &now), 0);
    return now;
  }
  void SetDescriptors(const rlimit& limit) {
    EXPECT_EQ(prlimit(agent_.pid(), RLIMIT_NOFILE, &limit, nullptr), 0);
  }
  // What the agent's first thread, the loop's, has used of the processor.
  Duration Processor() {
    std::ifstream status("/proc/" + std::to_string(agent_.pid()) + "/schedstat");
    int64_t ns = 0;
    status >> ns;
    return Duration(ns / 1'000'000);
  }
};

// Those it has are enough to serve on; a lost kubelet is found once there are some again.
TEST_F(LimitsTest, WithoutDescriptorsTheStreamIsServedAndALostOneIsOpenedOnceThereAreSome) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  kubelet::Admission pod = Run("a", {{kNpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  ASSERT_TRUE(AwaitMetric(R"(tessera_registrations_total{resource="dummy.com/npu",code="ok"})", 1));
  const rlimit before = Descriptors();

  SetDescriptors({.rlim_cur = 3, .rlim_max = before.rlim_max});
  EXPECT_TRUE(Run("b", {{kNpu, 1}}).admitted);
  ASSERT_TRUE(kubelet_->DropStream(kNpu));
  const std::string line =
      "WARN waiting for kubelet resource=dummy.com/npu reason=io error=\"cannot make a socket: Too "
      "many open files\" advice=";
  ASSERT_TRUE(AwaitLog(line));
  ASSERT_TRUE(AwaitLog("WARN cannot compare the ledger "));
  SetDescriptors(before);
  const Steady ended = SystemClock().Now();

  ExpectSoon(kNpu, 4, 4, ended);
  EXPECT_EQ(kubelet_->GrantsOf("default", "a")[0].ids, pod.grants[0].ids);
  EXPECT_EQ(LinesWith(line), 1u);
  EXPECT_TRUE(AwaitMetric(R"(tessera_registrations_total{resource="dummy.com/npu",code="ok"})", 2));
  EXPECT_GE(MetricNow(kFailed), 1);
}

TEST_F(LimitsTest, AConnectionThatCannotBeAcceptedIsNotTriedWithoutPause) {
  StartAll(kFour);
  Expect(kNpu, 4, 4);
  ASSERT_TRUE(AwaitMetric(R"(tessera_ledger_reconciliations_total{result="good"})", 1));
  const rlimit before = Descriptors();
  SetDescriptors({.rlim_cur = 3, .rlim_max = before.rlim_max});

  auto waiting = os::ConnectUnix(dir_ + "/agent.sock", kLimit);
  ASSERT_TRUE(waiting) << waiting.error().message;
  const std::string line =
      "WARN cannot accept a connection reason=io error=\"accept: Too many open files\" advice=";
  ASSERT_TRUE(AwaitLog(line));
  const Duration before_wait = Processor();
  ASSERT_TRUE(AwaitLog("WARN cannot compare the ledger "));  // a second later
  EXPECT_LT(Processor() - before_wait, Duration(300));

  SetDescriptors(before);
  EXPECT_TRUE(AwaitPage("/ledger", [](const json::Object& page) { return !page.empty(); }));
  EXPECT_EQ(LinesWith(line), 1u);
  EXPECT_GE(MetricNow(kFailed), 1);
}

TEST_F(LimitsTest, SixtyFourDevicesNeedLessThanHalfOf64MiB) {
  StartAll("  - {name: dummy.com/npu, policy: replicas, replicas: 10, dummy: {count: 64}}\n");
  Expect(kNpu, 640, 640);
  for (int i = 0; i < 64; ++i) {
    ASSERT_TRUE(Run("pod" + std::to_string(i), {{kNpu, 10}}).admitted);
  }
  Fault("lose-all");
  Expect(kNpu, 640, 0);
  Fault("restore");
  Expect(kNpu, 640, 640);

  const int64_t most = Memory("VmHWM");

  EXPECT_GT(most, 0);
  EXPECT_LT(most, 64 * 1024 / 2);
}

}  // namespace
}  // namespace tessera
