// SPDX-License-Identifier: Apache-2.0
#include "compat/hami/options.h"

#include "compat/hami/told_test.h"

namespace tessera::config::hami {
namespace {

TEST(HamiOptions, EveryVariableHasAnEffect) {
  const Config config = Good({.environment = {{"NODE_NAME", "worker-1"},
                                              {"DEVICE_SPLIT_COUNT", "5"},
                                              {"DEVICE_MEMORY_SCALING", "1.8"},
                                              {"DEVICE_CORES_SCALING", "1.5"},
                                              {"DISABLE_CORE_LIMIT", "T"},
                                              {"HOOK_PATH", "/opt/hami/"},
                                              {"ENABLE_TOPOLOGY_SCORE", "true"},
                                              {"KUBECONFIG", "/etc/kubeconfig"}}});
  EXPECT_EQ(config.api.node_name, "worker-1");
  EXPECT_EQ(config.api.kubeconfig, "/etc/kubeconfig");
  EXPECT_EQ(GpuOf(config).policy.replicas, 5);
  const NvidiaConfig::Vgpu& vgpu = NvidiaOf(config).vgpu;
  EXPECT_EQ(vgpu.memory_scaling, 1.8);
  EXPECT_EQ(vgpu.core_scaling, 1.5);
  EXPECT_EQ(vgpu.core_policy, "disable");
  EXPECT_EQ(vgpu.directory, "/opt/hami/vgpu");
  EXPECT_TRUE(vgpu.hami.topology_scores);
}

TEST(HamiOptions, AnEmptyVariableIsNone) {
  EXPECT_EQ(Good({.environment = {{"NODE_NAME", ""},
                                  {"DEVICE_SPLIT_COUNT", ""},
                                  {"DISABLE_CORE_LIMIT", ""},
                                  {"HOOK_PATH", ""}}}),
            Good({}));
}

TEST(HamiOptions, WhatCannotBeUsedIsTold) {
  EXPECT_EQ(
      Told({.environment = {{"DEVICE_SPLIT_COUNT", "0"}, {"HOOK_PATH", "hami"}},
            .words = {"--device-memory-scaling=much", "--disable-core-limit=maybe",
                      "--resource-name=gpu"}}),
      "nvidia.resourceCountName must be an extended resource name, vendor.domain/name outside "
      "kubernetes.io, not 'gpu'\n"
      "nvidia.deviceMemoryScaling takes a number above 0 and up to 100, not 'much'\n"
      "nvidia.disableCoreLimit takes true or false, not 'maybe'\n"
      "warning: nvidia.deviceSplitCount takes a whole number from 1 to 2147483647, not '0'; this "
      "has no effect\n"
      "warning: nvidia.hookPath must be an absolute path, not 'hami'; this has no effect\n");
}

TEST(HamiOptions, TheOneLetterIsAVerbosityOrTheVersion) {
  const auto parse = [](const std::vector<std::string>& words) {
    return nvidia::ParseCommandLine(words, FurtherFlags());
  };
  EXPECT_EQ(parse({"-v=4"}).further.at("v"), "4");
  EXPECT_EQ(parse({"--v", "4"}).further.at("v"), "4");
  EXPECT_FALSE(parse({"-v=4"}).version);
  EXPECT_TRUE(parse({"-v"}).version);
  EXPECT_TRUE(parse({"-v", "--gds-enabled"}).version);
  EXPECT_TRUE(nvidia::ParseCommandLine(std::vector<std::string>{"-v=4"}).version);
}

}  // namespace
}  // namespace tessera::config::hami
