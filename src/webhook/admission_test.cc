// SPDX-License-Identifier: Apache-2.0
#include "webhook/admission.h"

#include <gtest/gtest.h>

#include "webhook/admission_under_test.h"

namespace tessera::webhook {
namespace {

// What is decided of a pod, and whether it is so again of what becomes of it.
Decision DecisionOn(std::string_view pod, const Rules& rules = RulesUnderTest(),
                    const ClusterFacts& facts = {},
                    std::string_view user = R"({"username": "ann"})") {
  const auto review = ReadReview(ReviewOf(pod, user), FieldsOf(rules));
  if (!review) return {.allowed = false, .message = review.error().message};
  Decision decision = Decide(*review, rules, facts);
  if (decision.patch.empty()) return decision;
  auto patched = json::Parse(pod);
  EXPECT_TRUE(ApplyAll(decision.patch, *patched));
  const auto again = ReadReview(ReviewOf(json::Write(*patched), user), FieldsOf(rules));
  EXPECT_EQ(json::Write(Decide(*again, rules, facts).patch), "[]") << json::Write(*patched);
  return decision;
}

std::string PatchOn(std::string_view pod, const Rules& rules = RulesUnderTest()) {
  const Decision decision = DecisionOn(pod, rules);
  EXPECT_EQ(decision.message, "");
  return json::Write(decision.patch);
}

std::string PodOf(std::string_view containers, std::string_view more = "") {
  return fmt::format(R"({{"metadata": {{"name": "p"}}, "spec": {{{} "containers": [{}]}}}})", more,
                     containers);
}
// Of our scheduler, with one container.
std::string PodWith(std::string_view limits, std::string_view more = "") {
  return PodOf(
      fmt::format(R"({{"name": "c", "resources": {{"limits": {{{}}}}} {}}})", limits, more),
      R"("schedulerName": "hami-scheduler",)");
}
std::string PodMarked(std::string_view metadata, std::string_view limits) {
  return fmt::format(R"({{"metadata": {{"name": "p", {}}}, "spec": {{
      "schedulerName": "hami-scheduler",
      "containers": [{{"name": "c", "resources": {{"limits": {{{}}}}}}}]}}}})",
                     metadata, limits);
}

constexpr char kShare[] = R"("nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000")";
constexpr char kShareOf[] =
    R"({"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3k"}}})";

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

TEST(Admission, WhoAsksForMemoryAloneGetsTheCountInLimitsAndDefaultedRequests) {
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpumem": "3000")")),
            R"([{"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpu",)"
            R"("value":"1"}])");
  EXPECT_EQ(PatchOn(PodOf(R"({"name": "c", "resources": {"limits": {"nvidia.com/gpumem": "3000"},
                              "requests": {"nvidia.com/gpumem": "3000"}}})",
                          R"("schedulerName": "hami-scheduler",)")),
            R"([{"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpu",)"
            R"("value":"1"},)"
            R"({"op":"add","path":"/spec/containers/0/resources/requests/nvidia.com~1gpu",)"
            R"("value":"1"}])");
}

TEST(Admission, TheCountThatIsAddedIsConfigured) {
  Rules rules = RulesUnderTest();
  rules.default_count = 2;
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpucores": "30")"), rules),
            R"([{"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpu",)"
            R"("value":"2"}])");
  rules.default_count = 0;
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpumem": "3000")"), rules), "[]");
}

TEST(Admission, WhoGetsAllOfTheMemoryGetsAllOfTheTime) {
  const std::string all =
      R"([{"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpucores",)"
      R"("value":"100"}])";
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpu": "1")")), all);
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpu": "1", "nvidia.com/gpumem-percentage": "100")")),
            all);
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpu": "1", "nvidia.com/gpucores": "10")")), "[]");
}

TEST(Admission, SizesThatTheSiteHasConfiguredAreWritten) {
  Rules rules = RulesUnderTest();
  rules.requests.default_memory = 4000;
  rules.requests.default_cores = 20;
  rules.requests.memory_factor = 10;
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpu": "1", "nvidia.com/gpucores": "5")"), rules),
            R"([{"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpumem",)"
            R"("value":"400"}])");
  EXPECT_EQ(PatchOn(PodWith(kShare), rules),
            R"([{"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpucores",)"
            R"("value":"20"}])");
}

TEST(Admission, InitContainersAreTreatedLikewise) {
  EXPECT_EQ(PatchOn(PodOf(R"({"name": "c"})",
                          R"("schedulerName": "hami-scheduler", "initContainers": [
                       {"name": "i", "resources": {"limits": {"nvidia.com/gpumem": "10"}}}],)")),
            R"([{"op":"add","path":"/spec/initContainers/0/resources/limits/nvidia.com~1gpu",)"
            R"("value":"1"}])");
}

TEST(Admission, ThePriorityBecomesAVariable) {
  EXPECT_EQ(PatchOn(PodWith(std::string(kShare) + R"(, "nvidia.com/priority": "0")")),
            R"([{"op":"add","path":"/spec/containers/0/env",)"
            R"("value":[{"name":"CUDA_TASK_PRIORITY","value":"0"}]}])");
  EXPECT_EQ(PatchOn(PodWith(std::string(kShare) + R"(, "nvidia.com/priority": "0")",
                            R"(, "env": [{"name": "A", "value": "b"}])")),
            R"([{"op":"add","path":"/spec/containers/0/env/-",)"
            R"("value":{"name":"CUDA_TASK_PRIORITY","value":"0"}}])");
}

TEST(Admission, AVariableIsThereOnceWithOurValue) {
  EXPECT_EQ(
      PatchOn(PodWith(std::string(kShare) + R"(, "nvidia.com/priority": "1")",
                      R"(, "env": [{"name": "CUDA_TASK_PRIORITY", "valueFrom": {"fieldRef": {}}},
                         {"name": "A"}, {"name": "CUDA_TASK_PRIORITY", "value": "0"},
                         {"name": "CUDA_TASK_PRIORITY", "value": "1"}])")),
      R"([{"op":"replace","path":"/spec/containers/0/env/0",)"
      R"("value":{"name":"CUDA_TASK_PRIORITY","value":"1"}},)"
      R"({"op":"remove","path":"/spec/containers/0/env/3"},)"
      R"({"op":"remove","path":"/spec/containers/0/env/2"}])");
}

TEST(Admission, TheCorePolicyAndTheHiddenDevicesBecomeVariables) {
  Rules rules = RulesUnderTest();
  rules.core_policy = "force";
  rules.hides_devices = true;
  EXPECT_EQ(PatchOn(PodOf(std::string(kShareOf) + R"(, {"name": "log"})",
                          R"("schedulerName": "hami-scheduler",)"),
                    rules),
            R"([{"op":"add","path":"/spec/containers/0/env",)"
            R"("value":[{"name":"GPU_CORE_UTILIZATION_POLICY","value":"force"}]},)"
            R"({"op":"add","path":"/spec/containers/1/env",)"
            R"("value":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"none"}]}])");
}

TEST(Admission, TheRuntimeClassIsGivenToPodsThatNameNone) {
  Rules rules = RulesUnderTest();
  rules.runtime_class = "nvidia";
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

TEST(Admission, TheNodesLabelIsRequired) {
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

TEST(Admission, TheNodesLabelIsAddedToEachTermThatANodeCanMeet) {
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

TEST(Admission, APodThatSelectsTheNodesLabelHasIt) {
  EXPECT_EQ(LabelPatch(R"("nodeSelector": {"gpu": "on"})"), "[]");
}

std::string RefusalOf(std::string_view pod, const ClusterFacts& facts = {}) {
  const Decision decision = DecisionOn(pod, RulesUnderTest(), facts);
  EXPECT_EQ(decision.allowed, decision.message.empty());
  EXPECT_TRUE(decision.patch.empty());
  return decision.message;
}

TEST(Admission, APrivilegedContainerIsRefused) {
  EXPECT_EQ(RefusalOf(PodOf(std::string(kShareOf) +
                            R"(, {"name": "x", "securityContext": {"privileged": true}})")),
            "pod team/p: container x is privileged, and so has all devices of its node: leave out "
            "securityContext.privileged, or let no container of the pod ask for nvidia.com/gpu, "
            "nvidia.com/gpumem, nvidia.com/gpumem-percentage, nvidia.com/gpucores");
}

TEST(Admission, APodThatNamesItsNodeIsRefused) {
  EXPECT_EQ(
      RefusalOf(PodOf(kShareOf, R"("nodeName": "n1",)")),
      "pod team/p: spec.nodeName is n1, where no scheduler chooses devices: leave it out, and "
      "name the node in spec.nodeSelector, as kubernetes.io/hostname; or set 'unplaced: fit' "
      "for the agent of that node");
}

TEST(Admission, WhereTheAgentFitsThemAPodThatNamesItsNodeIsWarned) {
  Rules rules = RulesUnderTest();
  rules.node_label = "gpu";
  const ClusterFacts facts{.fits_unplaced = [](std::string_view node) { return node == "n1"; }};
  const Decision decision =
      DecisionOn(PodOf(R"({"name": "c", "resources": {"limits": {"nvidia.com/gpumem": "10"}}})",
                       R"("nodeName": "n1",)"),
                 rules, facts);
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.warnings,
            std::vector<std::string>{
                "spec.nodeName is n1: no scheduler chooses devices for the pod; the agent of that "
                "node gives it what is free there, or lets it fail"});
  EXPECT_EQ(json::Write(decision.patch),
            R"([{"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpu",)"
            R"("value":"1"}])");
  EXPECT_NE(RefusalOf(PodOf(kShareOf, R"("nodeName": "n2",)"), facts), "");
}

TEST(Admission, AnAmountThatCannotBeMeantIsRefused) {
  EXPECT_EQ(
      RefusalOf(PodWith(R"("nvidia.com/gpumem": "16Gi")")),
      "pod team/p: container c asks for 16Gi of nvidia.com/gpumem: write how many MiB of each "
      "device, a whole number from 0 to 2147483647 without a unit, such as 16384");
  EXPECT_EQ(RefusalOf(PodWith(std::string(kShare) + R"(, "nvidia.com/priority": "2")")),
            "pod team/p: container c asks for 2 of nvidia.com/priority: write 0, which is high, or "
            "1");
}

TEST(Admission, APodThatCannotBeReadIsRefused) {
  EXPECT_EQ(RefusalOf(R"({"spec": {"containers": [{"name": "c", "env": [{"name": 7}]}]}})"),
            "the pod cannot be read: spec: containers[0]: env: name is no text");
}

constexpr char kForged[] = R"("annotations": {"hami.io/vgpu-devices-allocated": "x",
    "hami.io/amd-devices-to-allocate": "y", "hami.io/vgpu-time": "1", "hami.io/mine": "z"})";

Rules Guarding() {
  Rules rules = RulesUnderTest();
  rules.guard = {.on = true, .writers = {"hami"}};
  return rules;
}

TEST(Admission, ForgedAnnotationsOfTheProtocolAreRefusedOfAnyPod) {
  const std::string pod = PodMarked(kForged, "");
  EXPECT_EQ(DecisionOn(pod, Guarding()).message,
            "pod team/p: hami.io/amd-devices-to-allocate, hami.io/vgpu-devices-allocated, "
            "hami.io/vgpu-time: only the scheduler and the nodes' agents write what they tell each "
            "other; leave it out of the pod, and name what you want in resources.limits");
  EXPECT_EQ(
      DecisionOn(PodMarked(R"("labels": {"hami.io/vgpu-node": "n"})", ""), Guarding()).message,
      "pod team/p: label hami.io/vgpu-node: only the scheduler writes it; leave it out of the "
      "pod");
  EXPECT_TRUE(DecisionOn(pod).allowed);
}

TEST(Admission, TheProtocolsWritersAndAdministratorsMayWriteIt) {
  const std::string pod = PodMarked(kForged, "");
  EXPECT_TRUE(DecisionOn(pod, Guarding(), {}, R"({"username": "hami"})").allowed);
  EXPECT_TRUE(DecisionOn(pod, Guarding(), {}, R"({"username": "a", "groups": ["system:masters"]})")
                  .allowed);
}

TEST(Admission, TheLabelOfAPodOrItsNamespaceKeepsTheWebhookOut) {
  const std::string bad = R"("nvidia.com/gpumem": "16Gi")";
  EXPECT_TRUE(DecisionOn(PodMarked(R"("labels": {"hami.io/webhook": "ignore"})", bad)).allowed);
  EXPECT_FALSE(DecisionOn(PodMarked(R"("labels": {"hami.io/webhook": "no"})", bad)).allowed);
  const ClusterFacts facts{
      .ignores_namespace = [](std::string_view name) { return name == "team"; }};
  EXPECT_TRUE(DecisionOn(PodWith(bad), RulesUnderTest(), facts).allowed);
}

TEST(Admission, AMirrorPodOfKubeletIsLeftAlone) {
  const std::string pod = PodMarked(R"("annotations": {"kubernetes.io/config.mirror": "1"})",
                                    R"("nvidia.com/gpumem": "16Gi")");
  EXPECT_TRUE(DecisionOn(pod, RulesUnderTest(), {},
                         R"({"username": "system:node:n", "groups": ["system:nodes"]})")
                  .allowed);
  EXPECT_FALSE(DecisionOn(pod).allowed);
}

std::vector<std::string> WarningsOf(std::string_view pod) {
  const Decision decision =
      DecisionOn(pod, RulesUnderTest(), {.largest_memory = 80'000, .most_devices = 8});
  EXPECT_TRUE(decision.allowed) << decision.message;
  return decision.warnings;
}

TEST(Admission, WhoAsksForMoreThanAnyNodeHasIsWarned) {
  EXPECT_EQ(WarningsOf(PodWith(R"("nvidia.com/gpu": "9", "nvidia.com/gpumem": "80001")")),
            (std::vector<std::string>{
                "container c asks for 9 of nvidia.com/gpu, and no node has more than 8",
                "container c asks for 80001 MiB of each device, and none here has more than "
                "80000"}));
  EXPECT_EQ(WarningsOf(PodWith(R"("nvidia.com/gpumem": "80001")")).size(), 1U);
  EXPECT_EQ(WarningsOf(PodWith(R"("nvidia.com/gpu": "8", "nvidia.com/gpumem": "80000")")).size(),
            0U);
}

TEST(Admission, UnknownPoliciesAreWarnedOfWithWhatThereIs) {
  EXPECT_EQ(WarningsOf(PodMarked(R"("annotations": {"hami.io/node-scheduler-policy": "best",
                                    "hami.io/gpu-scheduler-policy": "numa,mutex"})",
                                 kShare)),
            (std::vector<std::string>{
                "hami.io/node-scheduler-policy: there is no policy best, but binpack, spread",
                "hami.io/gpu-scheduler-policy: there is no policy numa,mutex, but binpack, spread, "
                "mutex, numa, topology-aware, and lists of binpack, spread, numa"}));
  EXPECT_EQ(WarningsOf(PodMarked(R"("annotations": {"hami.io/node-scheduler-policy": "spread",
                                    "hami.io/gpu-scheduler-policy": "numa, spread"})",
                                 kShare)),
            std::vector<std::string>{});
}

TEST(Admission, WeightsThatAreNoneAreWarnedOf) {
  for (const char* weights : {"slot=1", "slot=1,core=1,memory=x", "slot=0,core=0,memory=0",
                              "slot=1,core=1,speed=1", "slot=1,slot=1,core=1", ""}) {
    const auto warnings = WarningsOf(PodMarked(
        fmt::format(R"("annotations": {{"hami.io/device-scoring-weights": "{}"}})", weights),
        kShare));
    ASSERT_EQ(warnings.size(), 1U) << weights;
    EXPECT_TRUE(
        warnings[0].ends_with("is none; write whole numbers for all three, such as slot=1,"
                              "core=1,memory=3, and one of them above 0"));
  }
  EXPECT_EQ(WarningsOf(PodMarked(
                R"("annotations": {"hami.io/device-scoring-weights": "slot=1, core=0,memory=3"})",
                kShare)),
            std::vector<std::string>{});
}

TEST(Admission, FewerIdsThanDevicesAreWarnedOf) {
  EXPECT_EQ(
      WarningsOf(PodMarked(R"("annotations": {"nvidia.com/use-gpuuuid": "GPU-0, GPU-0"})",
                           R"("nvidia.com/gpu": "2")")),
      std::vector<std::string>{
          "nvidia.com/use-gpuuuid names 1 device, and container c asks for 2 of nvidia.com/gpu"});
}

}  // namespace
}  // namespace tessera::webhook
