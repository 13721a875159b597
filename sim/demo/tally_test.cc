// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/tally.h"

#include <gtest/gtest.h>

#include "sim/demo/observations_for_test.h"

namespace tessera::demo {
namespace {

using Kind = kubelet::KubeletEvent::Kind;

PodTried RefusedPod(const std::string& message) {
  PodTried tried;
  tried.admission.reason = "OutOfdummy.com/npu";
  tried.admission.message = message;
  return tried;
}

TEST(Tally, PodsAndContainersAreCounted) {
  Tally tally;
  tally.Count(Saw(Admitted("a", {"0"})));
  tally.Count(Saw(Told(Kind::kContainerStarted)));
  tally.Count(Saw(RefusedPod("too many")));
  tally.Count(Saw(RefusedPod("too many")));
  tally.Count(Saw(PodEnded{"a"}));
  const Summary summary = tally.Finish(Duration(1'000), {});
  EXPECT_EQ(summary.admitted, 1);
  EXPECT_EQ(summary.started, 1);
  EXPECT_EQ(summary.ended, 1);
  EXPECT_EQ(summary.refused, (std::map<std::string, int>{{"OutOfdummy.com/npu: too many", 2}}));
  EXPECT_TRUE(summary.good());
}

TEST(Tally, RecoveryOfKubeletEndsWithTheList) {
  Tally tally;
  tally.Count(Saw(KubeletMoved{true, "started"}, {}, 0));
  tally.Count(Saw(Listed(), {}, 100));
  tally.Count(Saw(KubeletMoved{false, "stopped"}, {}, 1'000));
  tally.Count(Saw(KubeletMoved{true, "started"}, {}, 2'000));
  tally.Count(Saw(Listed(), {}, 2'040));
  tally.Count(Saw(Listed(), {}, 2'900));
  const Summary summary = tally.Finish(Duration(3'000), {});
  EXPECT_EQ(summary.kubelet_recoveries, std::vector<Duration>{Duration(40)});
  EXPECT_EQ(summary.agent_recoveries, std::vector<Duration>());
}

TEST(Tally, RecoveryOfTheAgentCountsFromItsStart) {
  Tally tally;
  tally.Count(Saw(AgentMoved{.pid = 1, .up = true, .wanted = true, .how = ""}, {}, 0));
  tally.Count(Saw(Listed(), {}, 50));
  tally.Count(Saw(AgentMoved{.pid = 1, .up = false, .wanted = true, .how = ""}, {}, 500));
  tally.Count(Saw(AgentMoved{.pid = 2, .up = true, .wanted = true, .how = ""}, {}, 900));
  tally.Count(Saw(Listed(), {}, 960));
  EXPECT_EQ(tally.Finish(Duration(1'000), {}).agent_recoveries,
            std::vector<Duration>{Duration(60)});
}

TEST(Tally, SecondInstanceIsNoRecovery) {
  Tally tally;
  tally.Count(Saw(AgentMoved{.pid = 1, .up = true, .wanted = true, .how = ""}, {}, 0));
  tally.Count(Saw(Listed(), {}, 50));
  tally.Count(Saw(AgentMoved{.pid = 2, .up = true, .wanted = true, .how = ""}, {}, 500));
  tally.Count(Saw(Listed(), {}, 560));
  EXPECT_EQ(tally.Finish(Duration(1'000), {}).agent_recoveries, std::vector<Duration>());
}

TEST(Tally, AgentThatEndsByItselfIsAFailure) {
  Tally tally;
  tally.Count(Saw(AgentMoved{.pid = 7, .up = false, .wanted = false, .how = "died of signal 11"}));
  EXPECT_EQ(tally.Finish(Duration(0), {}).failures,
            std::vector<std::string>{"agent 7 died of signal 11"});
}

TEST(Tally, MissedExpectationIsAFailureWithItsPlace) {
  Tally tally;
  Observation seen = Saw(Expected{"a.b/c allocatable 4", "allocatable 3", false, Duration(5'000)});
  seen.scenario_line = "try.yaml:9";
  tally.Count(seen);
  EXPECT_EQ(tally.Finish(Duration(0), {}).failures,
            std::vector<std::string>{
                "try.yaml:9: not as expected: a.b/c allocatable 4; seen: allocatable 3"});
}

TEST(Summary, TextSaysWhatHappened) {
  Summary summary;
  summary.took = Duration(20'340);
  summary.admitted = 41;
  summary.ended = 40;
  summary.started = 43;
  summary.restarted = 1;
  summary.grants = 42;
  summary.refused = {
      {"UnexpectedAdmissionError: Allocate failed due to requested number of devices "
       "unavailable for dummy.com/npu. Requested: 65, Available: 32",
       1}};
  summary.checked = {{Law::kOneHolder, 42}, {Law::kLedgerAgrees, 1}};  // no other had an occasion
  summary.kubelet_recoveries = {Duration(30), Duration(10), Duration(20)};
  EXPECT_EQ(SummaryText(summary), R"(
All went well after 20.3 s
  pods        41 admitted, 1 refused, 40 ended
              1 x UnexpectedAdmissionError: Allocate failed due to requested
              number of devices unavailable for dummy.com/npu. Requested: 65,
              Available: 32
  containers  43 started, 1 of them again
  grants      42, 0 wrong
  recovery    kubelet restart: p50 20 ms, max 30 ms (3 times)
  laws        held     42 x  no share is granted to two running containers
              held      1 x  the agent's ledger says what kubelet granted
)");
}

TEST(Summary, BrokenLawIsNamed) {
  Tally tally;
  tally.Count(Breach{Law::kOneHolder, "b has what a has"});
  const Summary summary = tally.Finish(Duration(1'000), {{Law::kOneHolder, 2}});
  EXPECT_FALSE(summary.good());
  EXPECT_EQ(summary.wrong_grants, 1);
  const std::string text = SummaryText(summary);
  EXPECT_NE(text.find("FAILED after 1.0 s"), std::string::npos);
  EXPECT_NE(
      text.find("  laws        BROKEN    2 x  no share is granted to two running containers\n"),
      std::string::npos);
}

TEST(Summary, JsonHasTheSame) {
  Summary summary;
  summary.admitted = 2;
  summary.agent_recoveries = {Duration(50)};
  const json::Object object = SummaryJson(summary);
  EXPECT_EQ(json::GetString(object, "event"), "summary");
  EXPECT_EQ(json::GetBool(object, "good"), true);
  EXPECT_EQ(json::GetInt(object, "pods_admitted"), 2);
  EXPECT_EQ(json::GetInt(*json::GetObject(object, "agent_recovery"), "max_ms"), 50);
}

}  // namespace
}  // namespace tessera::demo
