// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/fraction/vgpu_config.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "backend/nvidia/fraction/limiter.h"
#include "config/told_test.h"

namespace tessera::nvidia {
namespace {

using namespace config;  // the words of its keys

// Variables that no pod may set itself, unless configured.
const std::map<std::string, std::string> kFixed = {{"CUDA_TASK_PRIORITY", "1"},
                                                   {"GPU_CORE_UTILIZATION_POLICY", "default"}};

TEST(VgpuConfig, GpusAreDividedIntoEqualPartsWithHamisIds) {
  const Config config =
      Good("resources: [{name: nvidia.com/gpu, policy: vgpu, replicas: 10, nvidia: {}}]\n");
  const Resource& resource = config.resources[0];
  EXPECT_EQ(resource.policy, (Policy{Division::kVgpu, 10, Separator::kDash}));
  EXPECT_EQ(resource.rendering.fractions, (FractionRules{.enforcer = &nvidia::Limiter(),
                                                         .directory = "/usr/local/vgpu",
                                                         .library = "/usr/local/vgpu/libvgpu.so",
                                                         .library_by_rule = true,
                                                         .enforced = true,
                                                         .parts = 10,
                                                         .tunables = kFixed}));
}

TEST(VgpuConfig, PlacesAndSizesAreTold) {
  const Config config = Good(
      "resources:\n"
      "- name: nvidia.com/gpu\n"
      "  policy: vgpu\n"
      "  replicas: 2\n"
      "  nvidia:\n"
      "    vgpu:\n"
      "      directory: /opt/vgpu/\n"
      "      library: /opt/libvgpu.so.1\n"
      "      enforced: false\n"
      "      sizes: [{memory: 60000, cores: 70}, {memory: 20000, cores: 30}]\n");
  EXPECT_EQ(config.resources[0].rendering.fractions,
            (FractionRules{.enforcer = &nvidia::Limiter(),
                           .directory = "/opt/vgpu",
                           .library = "/opt/libvgpu.so.1",
                           .enforced = false,
                           .parts = 2,
                           .sizes = {{60000, 70}, {20000, 30}},
                           .tunables = kFixed}));
}

TEST(VgpuConfig, TheAgentMayBringTheLibrary) {
  const auto vgpu = Good(
                        "resources: [{name: nvidia.com/gpu, policy: vgpu, replicas: 2, nvidia: "
                        "{vgpu: {install: /lib/libvgpu.so}}}]\n")
                        .resources[0]
                        .rendering.fractions;
  EXPECT_EQ(vgpu->install, "/lib/libvgpu.so");
}

std::string ToldOf(const std::string& resource) {
  const LoadResult result = LoadLines("resources:\n- {name: nvidia.com/gpu, " + resource + "}\n");
  std::string messages;
  for (const auto* problems : {&result.errors, &result.warnings}) {
    for (const Problem& problem : *problems) messages += problem.message + "\n";
  }
  return messages;
}

TEST(VgpuConfig, WhatCannotBeSharedOutIsRefused) {
  EXPECT_EQ(ToldOf("policy: vgpu, replicas: 3, nvidia: {vgpu: {sizes: [{memory: 1, cores: 60}, "
                   "{memory: 1, cores: 50}]}}"),
            "resources[0].nvidia.vgpu.sizes has 2 sizes for 3 virtual GPUs of a card ('replicas')\n"
            "resources[0].nvidia.vgpu.sizes share out 110 percent of a card's compute time\n");
  EXPECT_EQ(ToldOf("policy: vgpu, replicas: 101, nvidia: {}"),
            "resources[0].replicas is 101: a virtual GPU has at least one of a card's 100 percent "
            "of compute time\n");
  EXPECT_EQ(
      ToldOf("policy: vgpu, replicas: 2, nvidia: {mig: 1g.10gb}"),
      "resources[0].nvidia.mig cannot be combined with 'policy: vgpu', which divides whole GPUs\n");
}

TEST(VgpuConfig, ADirectoryThatTheLoaderWouldPartIsRefused) {
  for (const char* directory : {"/opt/my vgpu", "/opt/vgpu:2"}) {
    EXPECT_EQ(ToldOf(fmt::format("policy: vgpu, replicas: 2, nvidia: {{vgpu: {{directory: '{}'}}}}",
                                 directory)),
              "resources[0].nvidia.vgpu.directory has a space or a colon, where a container's "
              "loader would split the library's path\n");
  }
}

TEST(VgpuConfig, TheDirectoryThatAllContainersOnceSharedIsOfNoUse) {
  EXPECT_EQ(
      ToldOf("policy: vgpu, replicas: 2, nvidia: {vgpu: {lockDirectory: /tmp/vgpulock}}"),
      "resources[0].nvidia.vgpu.lockDirectory has no effect: each container has a lock of its "
      "own below 'directory'\n");
}

TEST(VgpuConfig, OneLibraryIsEnough) {
  EXPECT_EQ(ToldOf("policy: vgpu, replicas: 2, nvidia: {vgpu: {install: /a.so, library: /b.so}}"),
            "resources[0].nvidia.vgpu.install cannot be combined with 'library': either the agent "
            "copies the library, or it already exists\n");
}

TEST(VgpuConfig, ACardMayBeOneVirtualGpu) {
  EXPECT_EQ(ToldOf("policy: vgpu, replicas: 1, nvidia: {}"), "");
  EXPECT_EQ(ToldOf("policy: vgpu, nvidia: {}"),
            "resources[0].policy is 'vgpu' and needs the key 'replicas'\n");
}

TEST(VgpuConfig, TheLibraryIsToldOfItsLogWhenToLimitAndWhoGoesFirst) {
  const auto vgpu_of = [](const std::string& keys) {
    return Good("resources: [{name: nvidia.com/gpu, policy: vgpu, replicas: 2, nvidia: {vgpu: {" +
                keys + "}}}]\n")
        .resources[0]
        .rendering.fractions;
  };
  const auto told = vgpu_of("logLevel: 3, corePolicy: force");
  EXPECT_EQ(told->tunables,
            (std::map<std::string, std::string>{{"LIBCUDA_LOG_LEVEL", "3"},
                                                {"CUDA_TASK_PRIORITY", "1"},
                                                {"GPU_CORE_UTILIZATION_POLICY", "force"}}));
  EXPECT_TRUE(told->tunables_fixed);
  EXPECT_FALSE(told->may_disable_control);
  const auto free = vgpu_of("corePolicy: default, podCorePolicy: free");
  EXPECT_TRUE(free->tunables.empty());
  EXPECT_FALSE(free->tunables_fixed);
  EXPECT_FALSE(free->may_disable_control);
  EXPECT_FALSE(free->memory_by_driver);
  EXPECT_TRUE(vgpu_of("memoryBy: driver")->memory_by_driver);
  EXPECT_FALSE(vgpu_of("memoryBy: library")->memory_by_driver);
  EXPECT_EQ(vgpu_of("taskPriority: 0, podCorePolicy: free")->tunables,
            (std::map<std::string, std::string>{{"CUDA_TASK_PRIORITY", "0"}}));
  EXPECT_EQ(vgpu_of("taskPriority: 0")->tunables,
            (std::map<std::string, std::string>{{"CUDA_TASK_PRIORITY", "0"},
                                                {"GPU_CORE_UTILIZATION_POLICY", "default"}}));
  EXPECT_EQ(ToldOf("policy: vgpu, replicas: 2, nvidia: {vgpu: {logLevel: loud}}"),
            "resources[0].nvidia.vgpu.logLevel takes a digit, not 'loud'\n");
  EXPECT_EQ(ToldOf("policy: vgpu, replicas: 2, nvidia: {vgpu: {taskPriority: high}}"),
            "resources[0].nvidia.vgpu.taskPriority takes a digit, not 'high'\n");
}

TEST(VgpuConfig, WithoutThePolicyItHasNoEffect) {
  EXPECT_EQ(ToldOf("nvidia: {vgpu: {enforced: false}}"),
            "resources[0].nvidia.vgpu has no effect without 'policy: vgpu' in the resource\n");
}

TEST(VgpuConfig, OtherDevicesHaveNone) {
  EXPECT_EQ(ToldOf("policy: vgpu, replicas: 2, dummy: {count: 1}"),
            "resources[0].policy is 'vgpu', which devices of 'dummy' do not have\n");
}

}  // namespace
}  // namespace tessera::nvidia
