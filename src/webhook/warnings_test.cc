// SPDX-License-Identifier: Apache-2.0
#include "webhook/warnings.h"

#include <gtest/gtest.h>

#include "webhook/decision_under_test.h"

namespace tessera::webhook {
namespace {

std::vector<std::string> WarningsOf(std::string_view pod) {
  const Decision decision =
      DecisionOn(pod, RulesUnderTest(), {.most = {{.memory = 80'000, .on_node = 8}}});
  EXPECT_TRUE(decision.allowed) << decision.message;
  return decision.warnings;
}

TEST(Warnings, WhoAsksForMoreThanAnyNodeHasIsWarned) {
  EXPECT_EQ(WarningsOf(PodWith(R"("nvidia.com/gpu": "9", "nvidia.com/gpumem": "80001")")),
            (std::vector<std::string>{
                "container c asks for 9 of nvidia.com/gpu, but no node has more than 8",
                "container c asks for 80001 MiB of each device, but no device here has more than "
                "80000"}));
  EXPECT_EQ(WarningsOf(PodWith(R"("nvidia.com/gpumem": "80001")")).size(), 1U);
  EXPECT_EQ(WarningsOf(PodWith(R"("nvidia.com/gpu": "8", "nvidia.com/gpumem": "80000")")).size(),
            0U);
}

TEST(Warnings, UnknownPoliciesAreWarnedOfWithWhatThereIs) {
  EXPECT_EQ(
      WarningsOf(PodMarked(R"("annotations": {"hami.io/node-scheduler-policy": "best",
                                    "hami.io/gpu-scheduler-policy": "numa,mutex"})",
                           kShare)),
      (std::vector<std::string>{
          "hami.io/node-scheduler-policy: best is not a policy; use one of binpack, spread",
          "hami.io/gpu-scheduler-policy: numa,mutex is not a policy; use one of binpack, spread, "
          "mutex, numa, topology-aware, or a list of binpack, spread, numa"}));
  EXPECT_EQ(WarningsOf(PodMarked(R"("annotations": {"hami.io/node-scheduler-policy": "spread",
                                    "hami.io/gpu-scheduler-policy": "numa, spread"})",
                                 kShare)),
            std::vector<std::string>{});
}

TEST(Warnings, WeightsThatAreNoneAreWarnedOf) {
  for (const char* weights : {"slot=1", "slot=1,core=1,memory=x", "slot=0,core=0,memory=0",
                              "slot=1,core=1,speed=1", "slot=1,slot=1,core=1", ""}) {
    const auto warnings = WarningsOf(PodMarked(
        fmt::format(R"("annotations": {{"hami.io/device-scoring-weights": "{}"}})", weights),
        kShare));
    ASSERT_EQ(warnings.size(), 1U) << weights;
    EXPECT_TRUE(
        warnings[0].ends_with("is not valid; set three whole numbers, at least one above 0, "
                              "such as slot=1,core=1,memory=3"));
  }
  EXPECT_EQ(WarningsOf(PodMarked(
                R"("annotations": {"hami.io/device-scoring-weights": "slot=1, core=0,memory=3"})",
                kShare)),
            std::vector<std::string>{});
}

TEST(Warnings, ANumberOfNodesThatIsNoneIsWarnedOf) {
  for (const char* choices : {"many", "0", "101"}) {
    EXPECT_EQ(WarningsOf(PodMarked(
                  fmt::format(R"("annotations": {{"tessera.dev/node-choices": "{}"}})", choices),
                  kShare)),
              std::vector<std::string>{fmt::format(
                  "tessera.dev/node-choices: {} is not valid; use a whole number from 1 to 100",
                  choices)});
  }
  EXPECT_EQ(WarningsOf(PodMarked(R"("annotations": {"tessera.dev/node-choices": "100"})", kShare)),
            std::vector<std::string>{});
}

TEST(Warnings, FewerIdsThanDevicesAreWarnedOf) {
  EXPECT_EQ(
      WarningsOf(PodMarked(R"("annotations": {"nvidia.com/use-gpuuuid": "GPU-0, GPU-0"})",
                           R"("nvidia.com/gpu": "2")")),
      std::vector<std::string>{
          "nvidia.com/use-gpuuuid names 1 device, but container c asks for 2 of nvidia.com/gpu"});
}

}  // namespace
}  // namespace tessera::webhook
