// SPDX-License-Identifier: Apache-2.0
#include "webhook/container_patch.h"

#include <gtest/gtest.h>

#include "webhook/decision_under_test.h"

namespace tessera::webhook {
namespace {

TEST(ContainerPatch, WhoAsksForMemoryAloneGetsTheCountInLimitsAndDefaultedRequests) {
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

TEST(ContainerPatch, TheCountThatIsAddedIsConfigured) {
  Rules rules = RulesUnderTest();
  rules.devices[0].default_count = 2;
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpucores": "30")"), rules),
            R"([{"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpu",)"
            R"("value":"2"}])");
  rules.devices[0].default_count = 0;
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpumem": "3000")"), rules), "[]");
}

TEST(ContainerPatch, WhoGetsAllOfTheMemoryGetsAllOfTheTime) {
  const std::string all =
      R"([{"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpucores",)"
      R"("value":"100"}])";
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpu": "1")")), all);
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpu": "1", "nvidia.com/gpumem-percentage": "100")")),
            all);
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpu": "1", "nvidia.com/gpucores": "10")")), "[]");
}

TEST(ContainerPatch, SizesThatTheSiteHasConfiguredAreWritten) {
  Rules rules = RulesUnderTest();
  rules.devices[0].requests.default_memory = 4000;
  rules.devices[0].requests.default_cores = 20;
  rules.devices[0].requests.memory_factor = 10;
  EXPECT_EQ(PatchOn(PodWith(R"("nvidia.com/gpu": "1", "nvidia.com/gpucores": "5")"), rules),
            R"([{"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpumem",)"
            R"("value":"400"}])");
  EXPECT_EQ(PatchOn(PodWith(kShare), rules),
            R"([{"op":"add","path":"/spec/containers/0/resources/limits/nvidia.com~1gpucores",)"
            R"("value":"20"}])");
}

TEST(ContainerPatch, InitContainersAreTreatedLikewise) {
  EXPECT_EQ(PatchOn(PodOf(R"({"name": "c"})",
                          R"("schedulerName": "hami-scheduler", "initContainers": [
                       {"name": "i", "resources": {"limits": {"nvidia.com/gpumem": "10"}}}],)")),
            R"([{"op":"add","path":"/spec/initContainers/0/resources/limits/nvidia.com~1gpu",)"
            R"("value":"1"}])");
}

TEST(ContainerPatch, ThePriorityBecomesAVariable) {
  EXPECT_EQ(PatchOn(PodWith(std::string(kShare) + R"(, "nvidia.com/priority": "0")")),
            R"([{"op":"add","path":"/spec/containers/0/env",)"
            R"("value":[{"name":"CUDA_TASK_PRIORITY","value":"0"}]}])");
  EXPECT_EQ(PatchOn(PodWith(std::string(kShare) + R"(, "nvidia.com/priority": "0")",
                            R"(, "env": [{"name": "A", "value": "b"}])")),
            R"([{"op":"add","path":"/spec/containers/0/env/-",)"
            R"("value":{"name":"CUDA_TASK_PRIORITY","value":"0"}}])");
}

TEST(ContainerPatch, AVariableIsThereOnceWithOurValue) {
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

TEST(ContainerPatch, TheCorePolicyAndTheHiddenDevicesBecomeVariables) {
  Rules rules = RulesUnderTest();
  rules.devices[0].core_policy = "force";
  rules.devices[0].hides_devices = true;
  EXPECT_EQ(PatchOn(PodOf(std::string(kShareOf) + R"(, {"name": "log"})",
                          R"("schedulerName": "hami-scheduler",)"),
                    rules),
            R"([{"op":"add","path":"/spec/containers/0/env",)"
            R"("value":[{"name":"GPU_CORE_UTILIZATION_POLICY","value":"force"}]},)"
            R"({"op":"add","path":"/spec/containers/1/env",)"
            R"("value":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"none"}]}])");
}

}  // namespace
}  // namespace tessera::webhook
