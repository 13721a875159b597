// SPDX-License-Identifier: Apache-2.0
// A machine that has run out of a resource.
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <fstream>

#include "agent_fixture.h"
#include "http/blocking.h"
#include "os/address.h"
#include "os/files.h"
#include "os/unix_socket.h"

namespace tessera {
namespace {

constexpr char kFailedReads[] = R"(tessera_ledger_reconciliations_total{result="failed"})";

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
  // A connection that has sent as many of these bytes as the other side takes at once.
  static os::Fd Connect(const std::string& address, const std::string& bytes) {
    const os::Address to = os::ParseAddress(address).value();
    os::Fd fd(socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), to.get(), to.length), 0);
    (void)send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return fd;
  }
  // Processor time that the agent's first thread, the loop's, has used.
  Duration Processor() {
    std::ifstream status("/proc/" + std::to_string(agent_.pid()) + "/schedstat");
    int64_t ns = 0;
    status >> ns;
    return Duration(ns / 1'000'000);
  }
};

// The open descriptors suffice to serve. A lost kubelet is found once there are free ones again.
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
  ASSERT_TRUE(AwaitLog("WARN cannot compare the ledger with kubelet "));
  SetDescriptors(before);
  const Steady ended = SystemClock().Now();

  ExpectSoon(kNpu, 4, 4, ended);
  EXPECT_EQ(kubelet_->GrantsOf("default", "a")[0].ids, pod.grants[0].ids);
  EXPECT_EQ(LinesWith(line), 1u);
  EXPECT_TRUE(AwaitMetric(R"(tessera_registrations_total{resource="dummy.com/npu",code="ok"})", 2));
  EXPECT_GE(MetricNow(kFailedReads), 1);
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
  ASSERT_TRUE(AwaitLog("WARN cannot compare the ledger with kubelet "));  // a second later
  EXPECT_LT(Processor() - before_wait, Duration(300));

  SetDescriptors(before);
  EXPECT_TRUE(AwaitPage("/ledger", [](const json::Object& page) { return !page.empty(); }));
  EXPECT_EQ(LinesWith(line), 1u);
  EXPECT_GE(MetricNow(kFailedReads), 1);
}

// Connections that send nothing, end within a request, or do not read the answer.
TEST_F(LimitsTest, HundredsOfConnectionsToTheStatusPortCostNobodyAnything) {
  std::string config = Config("  - {name: dummy.com/npu, dummy: {count: 64}}\n");
  config.replace(config.find("\"off\""), 5, "\"127.0.0.1:0\"");
  WriteConfig(config);
  StartKubelet();
  agent_ = StartAgent();
  Expect(kNpu, 64, 64);
  const std::string opened = " port=";
  ASSERT_TRUE(AwaitLog(opened));
  const std::string log = Log();
  const size_t at = log.find(opened) + opened.size();
  const std::string address = "127.0.0.1:" + log.substr(at, log.find('\n', at) - at);
  ASSERT_TRUE(http::CallTcp(address, {"GET", "/explain", {}, ""}, kLimit));
  const int64_t before = Memory("VmRSS");

  const std::string body(1024 * 1024, 'x');
  const std::string beginnings[] = {"", "GET /explain HTTP/1.1\r\nX: ",
                                    "POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n" + body,
                                    "GET /explain HTTP/1.1\r\n\r\n"};
  std::vector<os::Fd> connections;
  for (size_t i = 0; i < 400; ++i) connections.push_back(Connect(address, beginnings[i % 4]));
  const auto health = http::CallTcp(address, {"GET", "/healthz", {}, ""}, kLimit);
  const auto order = http::CallTcp(address, {"POST", "/cordon", {}, body}, kLimit);

  ASSERT_TRUE(health) << health.error().message;
  EXPECT_EQ(health->body, "ok\n");
  EXPECT_EQ(order.error(),
            (Error{Reason::kInvalid, "orders are accepted on the control socket only"}));
  EXPECT_LT(Memory("VmHWM") - before, 8 * 1024);
  EXPECT_TRUE(Run("a", {{kNpu, 1}}).admitted);
  EXPECT_GT(MetricNow("tessera_http_connections_dropped_total"), 0);
  EXPECT_TRUE(AwaitLog("WARN closed connections to accept new ones "));
}

TEST_F(LimitsTest, TheLimitOfDescriptorsIsRaisedAtTheStart) {
  WriteConfig(Config(kFour));
  StartKubelet();
  agent_ = StartAgent({"/bin/sh", "-c", "ulimit -Sn 100; exec \"$@\"", "sh"});
  Expect(kNpu, 4, 4);

  const rlimit now = Descriptors();

  EXPECT_EQ(now.rlim_cur, std::min<rlim_t>(now.rlim_max, 65'536));
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
