// SPDX-License-Identifier: Apache-2.0
// A kubelet that no longer reads the lists of one resource, or of all. Device after device fails,
// and the lists are too long for any buffer.
#include <csignal>

#include "agent_fixture.h"
#include "http/blocking.h"

namespace tessera {
namespace {

constexpr char kTpu[] = "dummy.com/tpu";
constexpr int kDevices = 64;
constexpr int kReplicas = 1'000;
constexpr int kShares = kDevices * kReplicas;
// A list is longer than a megabyte, and every device but one causes another list.
constexpr char kLarge[] =
    "  - {name: dummy.com/npu, policy: replicas, replicas: 1000, dummy: {count: 64}}\n"
    "  - {name: dummy.com/tpu, env: TPUS, dummy: {count: 1}}\n";
constexpr char kQuick[] = "advertise: {debounce: 1ms}\n";
// Lists in flight are bounded by gRPC's windows: about 7. All lists would be 80 MB.
constexpr int kFewLists = kDevices / 4;
constexpr int64_t kMoreMemory = 40'000;  // kB
constexpr Duration kEndLimit{10'000};
constexpr Duration kReadLimit{300'000};
constexpr char kRegistrations[] =
    R"(tessera_registrations_total{resource="dummy.com/npu",code="ok"})";

class KubeletHangTest : public AgentTest {
 protected:
  int ListsSent() { return MetricNow(R"(tessera_lists_sent_total{resource="dummy.com/npu"})"); }

  // Each failure makes a list of its own; the last device stays healthy.
  void FailAllButOne() {
    const int sent = ListsSent();
    const int64_t memory = Memory("VmRSS");
    for (int device = 0; device < kDevices - 1; ++device) {
      Fault("fail", std::to_string(device), "on fire");
      ASSERT_TRUE(AwaitMetric(R"(tessera_shares{resource="dummy.com/npu",health="unhealthy"})",
                              (device + 1) * kReplicas));
    }
    EXPECT_LT(ListsSent() - sent, kFewLists);
    ASSERT_GT(memory, 0);
    EXPECT_LT(Memory("VmRSS") - memory, kMoreMemory);
  }
  void ExpectQuickEnd() {
    const Steady told = SystemClock().Now();
    agent_.Signal(SIGTERM);
    EXPECT_EQ(agent_.Wait(), 0);
    EXPECT_LT(SystemClock().Now() - told, kEndLimit);
  }
};

TEST_F(KubeletHangTest, AKubeletThatHangsInAStreamIsServedOtherwiseAndGetsTheNewestList) {
  StartAll(kLarge, kQuick);
  ASSERT_NO_FATAL_FAILURE(Expect(kNpu, kShares, kShares));
  const int registrations = Registrations(kNpu);
  const kubelet::Admission pod = Run("a", {{kNpu, 1}});
  ASSERT_TRUE(pod.admitted) << pod.message;
  EventsSoFar(kubelet::KubeletEvent::Kind::kList);

  ASSERT_TRUE(kubelet_->HangInStream(kNpu, true));
  ASSERT_NO_FATAL_FAILURE(FailAllButOne());
  // Kubelet still takes all devices for healthy. On the same connection a pod gets shares of the
  // only one that is.
  const kubelet::Admission next = Run("b", {{kNpu, 2}});
  ASSERT_TRUE(next.admitted) << next.message;
  EXPECT_EQ(next.grants[0].ids, (std::vector<std::string>{"63::0", "63::1"}));
  FaultOf(kTpu, "fail", "0");
  Expect(kTpu, 1, 0);
  EXPECT_EQ(Status(kNpu).allocatable, kShares);

  ASSERT_TRUE(kubelet_->HangInStream(kNpu, false));

  // The time is kubelet's: it still reads the lists in flight, each with 64,000 devices.
  EXPECT_TRUE(Await(kNpu, kShares, kReplicas, kReadLimit));
  EXPECT_LT(EventsSoFar(kubelet::KubeletEvent::Kind::kList).size(), size_t{kFewLists});
  EXPECT_EQ(kubelet_->GrantsOf("default", "a")[0].ids, pod.grants[0].ids);
  EXPECT_EQ(Registrations(kNpu), registrations);
}

TEST_F(KubeletHangTest, AKubeletThatHangsInAStreamDoesNotHoldUpTheEnd) {
  StartAll(kLarge, kQuick);
  ASSERT_NO_FATAL_FAILURE(Expect(kNpu, kShares, kShares));
  ASSERT_TRUE(kubelet_->HangInStream(kNpu, true));
  ASSERT_NO_FATAL_FAILURE(FailAllButOne());

  ExpectQuickEnd();
}

// The embedded kubelet as a process, which can be stopped as a whole.
class StoppedKubeletTest : public KubeletHangTest {
 protected:
  void StartAllWithKubeletAsProcess() {
    WriteConfig(Config(kLarge, kQuick));
    auto started = os::Process::Start({TESSERA_SIM, "kubelet", "--dir", dir_ + "/kubelet"},
                                      dir_ + "/kubelet.log");
    ASSERT_TRUE(started) << started.error().message;
    process_ = *std::move(started);
    agent_ = StartAgent();
    ASSERT_TRUE(AwaitAllocatable(kShares));
  }
  Result<json::Object> Ask(const http::Request& request) {
    auto response = http::CallUnix(dir_ + "/kubelet/control.sock", request, kLimit);
    auto value = response ? json::Parse(response->body) : Fail(response.error());
    if (!value) return Fail(value.error());
    return value->is_object() ? value->get_object() : json::Object();
  }
  json::Object Npu() {
    const json::Object status = Ask({"GET", "/status", {}, ""}).value_or(json::Object());
    const json::Array* resources = json::GetArray(status, "resources");
    for (const json::Value& value : resources == nullptr ? json::Array() : *resources) {
      if (json::GetString(value.get_object(), "name") == kNpu) return value.get_object();
    }
    return {};
  }
  bool AwaitAllocatable(int count) {
    return Await([&] { return json::GetInt(Npu(), "allocatable") == count; }, kReadLimit);
  }
  size_t Failures() { return LinesWith("WARN cannot compare the ledger with kubelet "); }
  size_t Recoveries() { return LinesWith("INFO the ledger is compared with kubelet again\n"); }
  // The ids that the pod holds.
  std::vector<std::string> Held(const std::string& pod) {
    std::vector<std::string> ids;
    const json::Object npu = Npu();
    const json::Array* devices = json::GetArray(npu, "devices");
    for (const json::Value& value : devices == nullptr ? json::Array() : *devices) {
      const json::Object& device = value.get_object();
      if (json::GetString(device, "pod") != "default/" + pod) continue;
      ids.push_back(json::GetString(device, "id").value_or(""));
    }
    return ids;
  }
  // Runs a pod and returns the ids that it holds.
  std::vector<std::string> RunPod(const std::string& pod, int count) {
    const json::Object container = {{"name", "main"}, {"limits", json::Object{{kNpu, count}}}};
    const json::Object body = {{"pod", pod}, {"containers", json::Array{container}}};
    EXPECT_TRUE(Ask({"POST", "/run", {}, json::Write(body)}));
    EXPECT_TRUE(Await([&] { return Held(pod).size() == static_cast<size_t>(count); }));
    return Held(pod);
  }

  os::Process process_;
};

TEST_F(StoppedKubeletTest, GetsTheNewestListOnceItGoesOn) {
  ASSERT_NO_FATAL_FAILURE(StartAllWithKubeletAsProcess());
  const std::vector<std::string> held = RunPod("a", 1);
  EXPECT_TRUE(Await(
      [&] { return MetricNow(R"(tessera_ledger_reconciliations_total{result="good"})") >= 1; }));
  const int registrations = MetricNow(kRegistrations);

  process_.Signal(SIGSTOP);
  ASSERT_NO_FATAL_FAILURE(FailAllButOne());
  // One warning for each outage, whatever the error. A slow kubelet may have failed before this
  // one.
  EXPECT_TRUE(Await([&] { return Failures() == Recoveries() + 1; }, kReadLimit));
  EXPECT_GE(MetricNow(R"(tessera_ledger_reconciliations_total{result="failed"})"),
            static_cast<int>(Failures()));
  process_.Signal(SIGCONT);

  ASSERT_TRUE(AwaitAllocatable(kReplicas));
  EXPECT_EQ(Held("a"), held);
  EXPECT_EQ(RunPod("b", 2), (std::vector<std::string>{"63::0", "63::1"}));
  EXPECT_TRUE(Await([&] { return Failures() == Recoveries(); }, kReadLimit));
  EXPECT_EQ(MetricNow(kRegistrations), registrations);
}

TEST_F(StoppedKubeletTest, DoesNotHoldUpTheEnd) {
  ASSERT_NO_FATAL_FAILURE(StartAllWithKubeletAsProcess());
  process_.Signal(SIGSTOP);
  ASSERT_NO_FATAL_FAILURE(FailAllButOne());

  ExpectQuickEnd();
}

}  // namespace
}  // namespace tessera
