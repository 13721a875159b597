// SPDX-License-Identifier: Apache-2.0
#include "webhook/patch.h"

#include <gtest/gtest.h>

#include "webhook/decision_under_test.h"

namespace tessera::webhook {
namespace {

TEST(Patch, TheRuntimeClassIsGivenToPodsThatNameNone) {
  Rules rules = RulesUnderTest();
  rules.devices[0].runtime_class = "nvidia";
  EXPECT_EQ(PatchOn(PodWith(kShare), rules),
            R"([{"op":"add","path":"/spec/runtimeClassName","value":"nvidia"}])");
  EXPECT_EQ(PatchOn(PodOf(kShareOf, R"("schedulerName": "hami-scheduler",
                                       "runtimeClassName": "kata",)"),
                    rules),
            "[]");
}

std::string LabelPatch(std::string_view affinity) {
  Rules rules = RulesUnderTest();
  rules.node_label = "gpu";
  return PatchOn(
      PodOf(kShareOf, fmt::format(R"("schedulerName": "hami-scheduler", {},)", affinity)), rules);
}

TEST(Patch, TheNodesLabelIsRequired) {
  const std::string terms = R"({"nodeSelectorTerms":[{"matchExpressions":)"
                            R"([{"key":"gpu","operator":"Exists"}]}]})";
  EXPECT_EQ(LabelPatch(R"("affinity": null)"),
            R"([{"op":"add","path":"/spec/affinity","value":{"nodeAffinity":)"
            R"({"requiredDuringSchedulingIgnoredDuringExecution":)" +
                terms + "}}}]");
  EXPECT_EQ(LabelPatch(R"("affinity": {"podAffinity": {}})"),
            R"([{"op":"add","path":"/spec/affinity/nodeAffinity","value":)"
            R"({"requiredDuringSchedulingIgnoredDuringExecution":)" +
                terms + "}}]");
  EXPECT_EQ(LabelPatch(R"("affinity": {"nodeAffinity": {}})"),
            R"([{"op":"add","path":"/spec/affinity/nodeAffinity/)"
            R"(requiredDuringSchedulingIgnoredDuringExecution","value":)" +
                terms + "}]");
}

TEST(Patch, TheNodesLabelIsAddedToEachTermThatANodeCanMeet) {
  const std::string path =
      "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
      "nodeSelectorTerms/";
  EXPECT_EQ(LabelPatch(R"("affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                  {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
                  {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]},
                  {},
                  {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["on"]}]}]}}})"),
            fmt::format(R"([{{"op":"add","path":"{0}0/matchExpressions/-",)"
                        R"("value":{{"key":"gpu","operator":"Exists"}}}},)"
                        R"({{"op":"add","path":"{0}1/matchExpressions",)"
                        R"("value":[{{"key":"gpu","operator":"Exists"}}]}}])",
                        path));
}

TEST(Patch, APodThatSelectsTheNodesLabelHasIt) {
  EXPECT_EQ(LabelPatch(R"("nodeSelector": {"gpu": "on"})"), "[]");
}

}  // namespace
}  // namespace tessera::webhook
