// SPDX-License-Identifier: Apache-2.0
#include "webhook/refusals.h"

#include <gtest/gtest.h>

#include "webhook/decision_under_test.h"

namespace tessera::webhook {
namespace {

std::string RefusalOf(std::string_view pod, const ClusterFacts& facts = {}) {
  const Decision decision = DecisionOn(pod, RulesUnderTest(), facts);
  EXPECT_EQ(decision.allowed, decision.message.empty());
  EXPECT_TRUE(decision.patch.empty());
  return decision.message;
}

TEST(Refusals, APrivilegedContainerIsRefused) {
  EXPECT_EQ(RefusalOf(PodOf(std::string(kShareOf) +
                            R"(, {"name": "x", "securityContext": {"privileged": true}})")),
            "pod team/p: container x is privileged and can reach all devices of its node: leave "
            "out securityContext.privileged or the pod's requests for nvidia.com/gpu, "
            "nvidia.com/gpumem, nvidia.com/gpumem-percentage, nvidia.com/gpucores");
}

TEST(Refusals, APodThatNamesItsNodeIsRefused) {
  EXPECT_EQ(RefusalOf(PodOf(kShareOf, R"("nodeName": "n1",)")),
            "pod team/p: spec.nodeName n1 bypasses the scheduler that chooses devices: use "
            "spec.nodeSelector with kubernetes.io/hostname, or set 'unplaced: fit' for that node's "
            "agent");
}

TEST(Refusals, WhereTheAgentFitsThemAPodThatNamesItsNodeIsWarned) {
  Rules rules = RulesUnderTest();
  rules.node_label = "gpu";
  const ClusterFacts facts{.fitting_unplaced = {"n1"}};
  const Decision decision =
      DecisionOn(PodOf(R"({"name": "c", "resources": {"limits": {"nvidia.com/gpumem": "10"}}})",
                       R"("nodeName": "n1",)"),
                 rules, facts);
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.warnings,
            std::vector<std::string>{"spec.nodeName n1 bypasses the scheduler: that node's agent "
                                     "gives the pod free devices, or the pod fails"});
  EXPECT_EQ(json::Write(decision.patch),
            R"([{"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpu",)"
            R"("value":"1"}])");
  EXPECT_NE(RefusalOf(PodOf(kShareOf, R"("nodeName": "n2",)"), facts), "");
}

TEST(Refusals, AnAmountThatCannotBeMeantIsRefused) {
  EXPECT_EQ(
      RefusalOf(PodWith(R"("nvidia.com/gpumem": "16Gi")")),
      "pod team/p: container c asks for 16Gi of nvidia.com/gpumem: write how many MiB of each "
      "device, a whole number from 0 to 2147483647 without a unit, such as 16384");
  EXPECT_EQ(RefusalOf(PodWith(std::string(kShare) + R"(, "nvidia.com/priority": "2")")),
            "pod team/p: container c asks for 2 of nvidia.com/priority: use 0 (high) or 1 (low)");
}

constexpr char kForged[] = R"("annotations": {"hami.io/vgpu-devices-allocated": "x",
    "hami.io/amd-devices-to-allocate": "y", "hami.io/vgpu-time": "1", "hami.io/mine": "z"})";

Rules Guarding() {
  Rules rules = RulesUnderTest();
  rules.guard = {.on = true, .writers = {"hami"}};
  return rules;
}

TEST(Refusals, ForgedAnnotationsOfTheProtocolAreRefusedOfAnyPod) {
  const std::string pod = PodMarked(kForged, "");
  EXPECT_EQ(DecisionOn(pod, Guarding()).message,
            "pod team/p: hami.io/amd-devices-to-allocate, hami.io/vgpu-devices-allocated, "
            "hami.io/vgpu-time: reserved for the scheduler and the nodes' agents; leave it out of "
            "the pod and request devices in resources.limits");
  EXPECT_EQ(
      DecisionOn(PodMarked(R"("labels": {"hami.io/vgpu-node": "n"})", ""), Guarding()).message,
      "pod team/p: label hami.io/vgpu-node: only the scheduler writes it; leave it out of the "
      "pod");
  EXPECT_TRUE(DecisionOn(pod).allowed);
}

TEST(Refusals, AMirrorPodThatNoKubeletMakesIsRefusedLikewise) {
  const std::string pod = PodMarked(R"("annotations": {"kubernetes.io/config.mirror": "1"})", "");
  for (const char* user : {R"({"username": "ann"})", R"({"username": "hami"})"}) {
    EXPECT_EQ(DecisionOn(pod, Guarding(), {}, user).message,
              "pod team/p: kubernetes.io/config.mirror: only kubelet makes mirror pods; leave it "
              "out of the pod");
  }
  for (const char* group : {"system:nodes", "system:masters"}) {
    const std::string user = fmt::format(R"({{"username": "a", "groups": ["{}"]}})", group);
    EXPECT_TRUE(DecisionOn(pod, Guarding(), {}, user).allowed) << group;
  }
}

TEST(Refusals, TheProtocolsWritersAndAdministratorsMayWriteIt) {
  const std::string pod = PodMarked(kForged, "");
  EXPECT_TRUE(DecisionOn(pod, Guarding(), {}, R"({"username": "hami"})").allowed);
  EXPECT_TRUE(DecisionOn(pod, Guarding(), {}, R"({"username": "a", "groups": ["system:masters"]})")
                  .allowed);
}

}  // namespace
}  // namespace tessera::webhook
