// SPDX-License-Identifier: Apache-2.0
// The agent's pages, and the orders that it accepts.
#include "agent_fixture.h"
#include "http/blocking.h"
#include "os/files.h"

namespace tessera {
namespace {

constexpr char kTwo[] = "  - {name: dummy.com/npu, dummy: {count: 2}}\n";

class PagesTest : public AgentTest {
 protected:
  void Start() {
    StartAll(kTwo);
    Expect(kNpu, 2, 2);
  }
};

TEST_F(PagesTest, TheInventoryShowsResourcesAndDevices) {
  Start();

  json::Object page = Page("/inventory");

  json::Object resource = page.at("resources").at(0).as_object();
  EXPECT_EQ(resource.at("name"), kNpu);
  EXPECT_EQ(resource.at("policy"), "whole");
  EXPECT_EQ(resource.at("capacity"), 2);
  EXPECT_EQ(resource.at("allocatable"), 2);
  EXPECT_EQ(resource.at("registration"), "kubelet-socket");
  EXPECT_EQ(resource.at("state"), "streaming");
  json::Object device = page.at("devices").at(1).as_object();
  EXPECT_EQ(device.at("id"), "1");
  EXPECT_EQ(device.at("state"), "healthy");
  EXPECT_EQ(device.at("offered"), true);
  EXPECT_EQ(device.at("shares"), json::Value(json::Array{"1"}));
  EXPECT_EQ(device.at("cordon"), nullptr);
}

TEST_F(PagesTest, ExplainSaysWhatAContainerWouldGetOrWhyNothing) {
  Start();
  json::Object healthy = Page("/explain?device=0").at("candidates").at(0).as_object();
  EXPECT_EQ(healthy.at("why"), "healthy, offered as 1 share");
  EXPECT_EQ(healthy.at("grant").at("envs").at("DUMMY_VISIBLE_DEVICES"), "0");

  ASSERT_TRUE(Order("/cordon", {{"device", "0"}, {"reason", "loud fan"}}));
  json::Object cordoned = Page("/explain?device=0").at("candidates").at(0).as_object();
  EXPECT_EQ(cordoned.at("why").as_string(),
            (Error{Reason::kCordoned, "cordoned: loud fan"}).Text());
  EXPECT_EQ(cordoned.at("grant"), nullptr);
}

TEST_F(PagesTest, ExplainSaysWhatAPodHoldsOrWhereItMayBe) {
  Start();
  ASSERT_TRUE(Run("a", {{kNpu, 1}}).admitted);
  ASSERT_TRUE(LedgerKnows("a"));
  const json::Object pod = Page("/explain?pod=default/a");
  EXPECT_EQ(pod.at("containers").at(0).at("state"), "holds");
  EXPECT_EQ(pod.at("containers").at(0).at("holdings").at(0).at("devices").as_array().size(), 1U);

  EXPECT_NE(Get("/explain?pod=default/b").find("reports pod default/b"), std::string::npos);
}

TEST_F(PagesTest, ReadinessFollowsTheStream) {
  Start();
  EXPECT_EQ(Get("/healthz"), "ok\n");
  EXPECT_EQ(Get("/readyz"), "ok\n");

  kubelet_->Stop();
  kubelet_.reset();

  Steady limit = SystemClock().Now() + kLimit;
  std::string text;
  do {
    auto response = http::ExchangeUnix(dir_ + "/agent.sock", {"GET", "/readyz", {}, ""}, kLimit);
    ASSERT_TRUE(response);
    text = response->status == 503 ? response->body : "";
  } while (text.empty() && SystemClock().Now() < limit);
  EXPECT_TRUE(text == "dummy.com/npu: waiting\n" || text == "dummy.com/npu: backoff\n") << text;
}

TEST_F(PagesTest, MetricsCountWhatHappened) {
  Start();
  ASSERT_TRUE(Run("a", {{kNpu, 1}}).admitted);
  // Kubelet may read the list before its answer to Register arrives.
  ASSERT_TRUE(AwaitMetric(R"(tessera_registrations_total{resource="dummy.com/npu",code="ok"})", 1));

  std::string metrics = Get("/metrics");

  for (const char* line :
       {"tessera_devices{resource=\"dummy.com/npu\",state=\"healthy\"} 2\n",
        "tessera_shares{resource=\"dummy.com/npu\",health=\"healthy\"} 2\n",
        "tessera_allocations_total{resource=\"dummy.com/npu\",code=\"ok\"} 1\n",
        "tessera_registrations_total{resource=\"dummy.com/npu\",code=\"ok\"} 1\n",
        "tessera_streams{resource=\"dummy.com/npu\"} 1\n", "tessera_state_writer 1\n"}) {
    EXPECT_NE(metrics.find(line), std::string::npos) << line << "is missing in\n" << metrics;
  }
}

TEST_F(PagesTest, AnOrderThatCannotBeFollowedSaysWhy) {
  Start();

  EXPECT_EQ(Order("/cordon", {{"device", "9"}, {"reason", "x"}}).error(),
            (Error{Reason::kNotFound, "there is no device 9"}));
  EXPECT_EQ(Order("/cordon", {{"device", "0"}}).error(),
            (Error{Reason::kInvalid, "a cordon needs a reason"}));
  EXPECT_EQ(Order("/uncordon", {{"device", "0"}}).error(),
            (Error{Reason::kNotFound, "device dummy.com/npu/0 is not cordoned"}));
  EXPECT_EQ(Order("/fault", {{"resource", kNpu}, {"verb", "fail"}}).error(),
            (Error{Reason::kNotFound, "there is no order /fault"}));
}

TEST_F(PagesTest, AStatusPortInUseIsTakenOnceItIsFree) {
  os::Loop loop;
  auto other = http::Server::ListenTcp(loop, "127.0.0.1:0",
                                       [](const http::Request&) { return http::Text(""); });
  ASSERT_TRUE(other);
  std::string address = "127.0.0.1:" + std::to_string((*other)->port());
  std::string text = Config(kTwo);
  text.replace(text.find("\"off\""), 5, "\"" + address + "\"");
  WriteConfig(text);
  StartKubelet();
  agent_ = StartAgent();
  Expect(kNpu, 2, 2);  // the port costs nobody a device
  EXPECT_NE(Log().find("the status port is not open yet reason=port-in-use"), std::string::npos);

  other->reset();

  Result<http::Response> answer = Fail(Reason::kUnavailable, "not asked");
  for (Steady limit = SystemClock().Now() + kLimit; !answer && SystemClock().Now() < limit;) {
    answer = http::CallTcp(address, {"GET", "/healthz", {}, ""}, kLimit);
  }
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "ok\n");
}

TEST_F(PagesTest, TheControlSocketIsItsOwnersAlone) {
  Start();

  EXPECT_EQ(os::Inspect(dir_ + "/agent.sock")->mode, 0600u);
}

}  // namespace
}  // namespace tessera
