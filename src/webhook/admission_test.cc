// SPDX-License-Identifier: Apache-2.0
#include "webhook/admission.h"

#include <gtest/gtest.h>

#include "webhook/decision_under_test.h"

namespace tessera::webhook {
namespace {

TEST(Admission, APodThatAsksForNothingOfOursIsLeftAlone) {
  EXPECT_EQ(PatchOn(PodOf(R"({"name": "c"})")), "[]");
  EXPECT_EQ(PatchOn(PodOf(R"({"name": "c", "resources": {"limits": {"nvidia.com/gpu": "0"}},
                              "securityContext": {"privileged": true}})")),
            "[]");
}

TEST(Admission, APodOfNoSchedulerBecomesOurs) {
  const std::string ours =
      R"([{"op":"add","path":"/spec/schedulerName","value":"hami-scheduler"}])";
  EXPECT_EQ(PatchOn(PodOf(kShareOf)), ours);
  EXPECT_EQ(PatchOn(PodOf(kShareOf, R"("schedulerName": "default-scheduler",)")), ours);
}

TEST(Admission, TheDefaultSchedulersPodsStayItsWhereThatIsAsked) {
  Rules rules = RulesUnderTest();
  rules.takes_default_scheduler = false;
  EXPECT_EQ(PatchOn(PodOf(kShareOf, R"("schedulerName": "default-scheduler",)"), rules), "[]");
  EXPECT_NE(PatchOn(PodOf(kShareOf), rules), "[]");
}

TEST(Admission, EachOfOurSchedulersKeepsItsPods) {
  EXPECT_EQ(PatchOn(PodOf(kShareOf, R"("schedulerName": "tessera-scheduler",)")), "[]");
}

TEST(Admission, PodsOfOtherSchedulersAreLeftAlone) {
  EXPECT_EQ(PatchOn(PodOf(R"({"name": "c", "resources": {"limits": {"nvidia.com/gpumem": "16Gi"}},
                              "securityContext": {"privileged": true}})",
                          R"("schedulerName": "volcano",)")),
            "[]");
}

TEST(Admission, APodThatCannotBeReadIsRefused) {
  EXPECT_EQ(
      DecisionOn(R"({"spec": {"containers": [{"name": "c", "env": [{"name": 7}]}]}})").message,
      "the pod cannot be read: spec: containers[0]: env: name is not a string");
}

TEST(Admission, TheLabelOfAPodKeepsTheWebhookOut) {
  const std::string bad = R"("nvidia.com/gpumem": "16Gi")";
  EXPECT_TRUE(DecisionOn(PodMarked(R"("labels": {"hami.io/webhook": "ignore"})", bad)).allowed);
  EXPECT_FALSE(DecisionOn(PodMarked(R"("labels": {"hami.io/webhook": "no"})", bad)).allowed);
}

TEST(Admission, AMirrorPodOfKubeletIsLeftAlone) {
  const std::string pod = PodMarked(R"("annotations": {"kubernetes.io/config.mirror": "1"})",
                                    R"("nvidia.com/gpumem": "16Gi")");
  EXPECT_TRUE(DecisionOn(pod, RulesUnderTest(), {},
                         R"({"username": "system:node:n", "groups": ["system:nodes"]})")
                  .allowed);
  EXPECT_FALSE(DecisionOn(pod).allowed);
}

}  // namespace
}  // namespace tessera::webhook
