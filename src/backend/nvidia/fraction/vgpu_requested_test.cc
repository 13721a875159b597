// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/fraction/vgpu_requested.h"

#include <gtest/gtest.h>

#include "config/told_test.h"
#include "hami/vendor.h"

namespace tessera::nvidia {
namespace {

using namespace config;  // the words of its keys

constexpr char kCdi[] =
    "strategies: [cdi-cri], cdi: {kind: k8s.device-plugin.nvidia.com/gpu}, nvidia: ";

// A resource with these keys of `vgpu`, and `before` them.
std::string KeyLines(const std::string& keys, const std::string& before) {
  return "resources:\n- {name: nvidia.com/gpu, policy: vgpu, replicas: 10, " + before + "{vgpu: {" +
         keys + "}}}\n";
}

std::string ToldOfKeys(const std::string& keys, const std::string& before = kCdi) {
  const LoadResult result = LoadLines(KeyLines(keys, before));
  std::string messages;
  for (const auto* problems : {&result.errors, &result.warnings}) {
    for (const Problem& problem : *problems) messages += problem.message + "\n";
  }
  return messages;
}

TEST(VgpuRequested, NamesAndDefaultsAreHamis) {
  const Config config = Good(KeyLines("mode: requested", kCdi));
  EXPECT_EQ(config.resources[0].rendering.fractions->requests, hami::kNvidia.Requests());
  EXPECT_EQ(*config.resources[0].rendering.fractions->requests,
            (FractionRequests{.memory_name = "nvidia.com/gpumem",
                              .percentage_name = "nvidia.com/gpumem-percentage",
                              .cores_name = "nvidia.com/gpucores",
                              .default_memory = 0,
                              .default_cores = 0,
                              .memory_factor = 1,
                              .fit_unplaced = false,
                              .vendor = &hami::kNvidia}));
  EXPECT_EQ(config.resources[0].rendering.fractions->registration,
            FractionRegistration{.order_step = 64});
  EXPECT_TRUE(config.resources[0].kind.As<NvidiaConfig>()->vgpu.hami.registered);
}

TEST(VgpuRequested, ASiteHasItsOwn) {
  const Config config = Good(
      KeyLines("mode: requested, unplaced: fit, memoryResource: a.b/mem, memoryPercentageResource: "
               "a.b/percent, coresResource: a.b/cores, defaultMemory: 4096, defaultCores: 30, "
               "memoryFactor: 1024, memoryScaling: 1.8, coreScaling: 1.5, hami: {register: false, "
               "topologyScores: true, compat: 2.7}, allowDisableControl: true",
               kCdi));
  const FractionRules& vgpu = *config.resources[0].rendering.fractions;
  EXPECT_EQ(*vgpu.requests, (FractionRequests{.memory_name = "a.b/mem",
                                              .percentage_name = "a.b/percent",
                                              .cores_name = "a.b/cores",
                                              .default_memory = 4096,
                                              .default_cores = 30,
                                              .memory_factor = 1024,
                                              .fit_unplaced = true,
                                              .vendor = &hami::kNvidia}));
  EXPECT_EQ(vgpu.registration, std::nullopt);
  EXPECT_EQ(vgpu.memory_scaling, 1.8);
  EXPECT_EQ(vgpu.core_scaling, 1.5);
  EXPECT_TRUE(vgpu.may_disable_control);
  EXPECT_EQ(
      config.resources[0].kind.As<NvidiaConfig>()->vgpu.hami,
      (NvidiaConfig::Vgpu::Hami{.registered = false, .topology_scores = true, .before_2_8 = true}));
}

TEST(VgpuRequested, EqualPartsAskNobody) {
  EXPECT_FALSE(Good(KeyLines("mode: equal", kCdi)).resources[0].rendering.fractions->requests);
  EXPECT_EQ(ToldOfKeys("allowDisableControl: true, defaultCores: 30, memoryScaling: 1.8, "
                       "hami: {register: false}"),
            "resources[0].nvidia.vgpu.allowDisableControl has no effect without 'mode: requested'\n"
            "resources[0].nvidia.vgpu.defaultCores has no effect without 'mode: requested'\n"
            "resources[0].nvidia.vgpu.memoryScaling has no effect without 'mode: requested'\n"
            "resources[0].nvidia.vgpu.hami.register has no effect without 'mode: requested'\n");
  EXPECT_EQ(ToldOfKeys("defaultCores: 0, memoryScaling: 1.0, hami: {register: true}"), "");
}

TEST(VgpuRequested, SizesAreNotToldTwice) {
  EXPECT_EQ(
      ToldOfKeys("mode: requested, sizes: [{memory: 1, cores: 1}]"),
      "resources[0].nvidia.vgpu.sizes has 1 sizes for 10 virtual GPUs of a card ('replicas')\n"
      "resources[0].nvidia.vgpu.sizes cannot be combined with 'mode: requested', where each pod "
      "sets its own size\n");
}

TEST(VgpuRequested, WhereThereIsCdiItNeedsDocumentsOfOurOwn) {
  EXPECT_EQ(
      ToldOfKeys("mode: requested",
                 "strategies: [cdi-cri], cdi: {kind: nvidia.com/gpu, write: false}, nvidia: "),
      "resources[0].nvidia.vgpu.mode is 'requested', which needs the agent's own CDI documents or "
      "no CDI: set 'strategies: [cdi-cri]' and the 'cdi.kind' k8s.device-plugin.nvidia.com/gpu\n");
}

TEST(VgpuRequested, WithoutCdiItIsServedAsWell) {
  EXPECT_TRUE(NeedsMatch(Good(KeyLines("mode: requested", "nvidia: ")).resources[0].rendering));
  EXPECT_FALSE(NeedsMatch(Good(KeyLines("mode: requested", kCdi)).resources[0].rendering));
}

TEST(VgpuRequested, ScalingIsANumberAboveNothing) {
  EXPECT_EQ(ToldOfKeys("mode: requested, memoryScaling: 0, coreScaling: \"1.5\""),
            "resources[0].nvidia.vgpu.memoryScaling takes a number above 0 and up to 100, not '0'\n"
            "resources[0].nvidia.vgpu.coreScaling takes a number above 0 and up to 100, not the "
            "text '1.5'\n");
}

}  // namespace
}  // namespace tessera::nvidia
