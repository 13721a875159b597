// SPDX-License-Identifier: Apache-2.0
#include "scheduler/extender.h"

#include <gtest/gtest.h>

namespace tessera::scheduler {
namespace {

const kube::PodFields kWanted{.keys = {"hami.io/"}, .resource = [](std::string_view name) {
                                return name.starts_with("nvidia.com/");
                              }};

std::string CallOf(const std::string& nodes, const std::string& names) {
  return R"({"Pod":{"metadata":{"name":"train","namespace":"team","uid":"uid-1",)"
         R"("resourceVersion":"1"},"spec":{)"
         R"("containers":[{"name":"main","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}},)"
         R"("Nodes":)" +
         nodes + R"(,"NodeNames":)" + names + "}";
}

TEST(ExtenderTest, ACallOfFilterHasAPodAndNamesOfNodes) {
  const auto call = ReadFilterCall(CallOf("null", R"(["a","b"])"), kWanted);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->pod.FullName(), "team/train");
  EXPECT_EQ(call->pod.containers.at(0).limits, (kube::Texts{{"nvidia.com/gpu", "1"}}));
  EXPECT_EQ(call->nodes, (std::vector<std::string_view>{"a", "b"}));
  EXPECT_FALSE(call->simulated);
}

TEST(ExtenderTest, ACallWithWholeNodesIsASimulation) {
  const auto call = ReadFilterCall(
      CallOf(R"({"items":[{"metadata":{"name":"a","labels":{"x":"y"}}}]})", "null"), kWanted);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->nodes, std::vector<std::string_view>{"a"});
  EXPECT_TRUE(call->simulated);
}

TEST(ExtenderTest, NamesThatGrowAsTheyAreReadAreKeptWhole) {
  const std::string broken(1'000, '\xff');  // each byte is read as U+FFFD, which has three
  const auto call = ReadFilterCall(CallOf("null", R"(["a",")" + broken + R"(","b"])"), kWanted);
  ASSERT_TRUE(call) << call.error().message;
  ASSERT_EQ(call->nodes.size(), 3U);
  EXPECT_EQ(call->nodes[0], "a");
  EXPECT_EQ(call->nodes[2], "b");
}

TEST(ExtenderTest, WhatIsNoCallOfFilterIsRefusedWithWhatIsWrong) {
  const auto why = [](const std::string& text) {
    const auto call = ReadFilterCall(text, kWanted);
    return call ? std::string() : call.error().message;
  };
  EXPECT_EQ(why("[]"), "a call of filter is not an object");
  EXPECT_EQ(why("{}"), "a call of filter has no Pod");
  EXPECT_EQ(why(CallOf("null", R"({"a":1})")), "NodeNames is not a list");
  EXPECT_EQ(why(CallOf("null", "[1]")), "a name in NodeNames is not a string");
}

TEST(ExtenderTest, AnAnswerOfFilterHasAllMembersOfGos) {
  EXPECT_EQ(json::Write(FilterAnswerJson({.nodes = {"a"},
                                          .failed = {{"b", "full"}},
                                          .unresolvable = {{"c", "no GPUs"}},
                                          .error = "wait"})),
            R"({"Nodes":null,"NodeNames":["a"],"FailedNodes":{"b":"full"},)"
            R"("FailedAndUnresolvableNodes":{"c":"no GPUs"},"Error":"wait"})");
}

TEST(ExtenderTest, ScoresAreAListOfHosts) {
  EXPECT_EQ(json::Write(ScoresJson({{"a", 10}, {"b", 0}})),
            R"([{"Host":"a","Score":10},{"Host":"b","Score":0}])");
}

std::string PreemptCallOf(const std::string& victims) {
  return R"({"Pod":{"metadata":{"name":"train","namespace":"team","uid":"uid-1",)"
         R"("resourceVersion":"1"},"spec":{"containers":[{"name":"main"}]}},)" +
         victims + "}";
}

TEST(ExtenderTest, ACallOfPreemptHasVictimsByNode) {
  const auto call = ReadPreemptCall(
      PreemptCallOf(R"("NodeNameToVictims":null,"NodeNameToMetaVictims":{)"
                    R"("a":{"Pods":[{"UID":"uid-2"},{"UID":"uid-3"}],"NumPDBViolations":1},)"
                    R"("b":{"Pods":null,"NumPDBViolations":0}})"),
      kWanted);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->pod.FullName(), "team/train");
  EXPECT_EQ(call->nodes,
            (VictimsByNode{{"a", {.uids = {"uid-2", "uid-3"}, .violations = 1}}, {"b", {}}}));
}

TEST(ExtenderTest, WhatIsNoCallOfPreemptIsRefusedWithWhatIsWrong) {
  const auto why = [](const std::string& text) {
    const auto call = ReadPreemptCall(text, kWanted);
    return call ? std::string() : call.error().message;
  };
  EXPECT_EQ(why("[]"), "a call of preempt is not an object");
  EXPECT_EQ(why("{}"), "a call of preempt has no Pod");
  EXPECT_EQ(why(PreemptCallOf(R"("NodeNameToVictims":{},"NodeNameToMetaVictims":null)")),
            "a call of preempt has no NodeNameToMetaVictims: set nodeCacheCapable in "
            "KubeSchedulerConfiguration");
  EXPECT_EQ(why(PreemptCallOf(R"("NodeNameToMetaVictims":{"a":1})")),
            "NodeNameToMetaVictims: a node's victims are not an object");
}

TEST(ExtenderTest, AnAnswerOfPreemptHasTheVictimsThatAreLeft) {
  EXPECT_EQ(json::Write(PreemptAnswerJson({{"a", {.uids = {"uid-2"}, .violations = 1}}})),
            R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"uid-2"}],"NumPDBViolations":1}}})");
}

TEST(ExtenderTest, ACallOfBindNamesThePodItsUidAndTheNode) {
  const auto call =
      ReadBindCall(R"({"PodName":"train","PodNamespace":"team","PodUID":"uid-1","Node":"a"})");
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->pod_namespace + "/" + call->pod, "team/train");
  EXPECT_EQ(call->uid, "uid-1");
  EXPECT_EQ(call->node, "a");
  EXPECT_FALSE(ReadBindCall(R"({"PodName":"train","PodNamespace":"team","Node":"a"})"));
}

TEST(ExtenderTest, AnAnswerOfBindHasTheError) {
  EXPECT_EQ(json::Write(BindAnswerJson("no room")), R"({"Error":"no room"})");
}

}  // namespace
}  // namespace tessera::scheduler
