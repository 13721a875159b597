// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/mps/config.h"

#include <gtest/gtest.h>

#include "config/told_test.h"

namespace tessera::nvidia {
namespace {

using namespace config;  // the words of its keys

TEST(MpsConfig, ContainersGetTheDaemonsPipesAndItsMemory) {
  const Config config =
      Good("resources: [{name: nvidia.com/gpu, policy: mps, replicas: 4, nvidia: {}}]\n");
  const Resource& resource = config.resources[0];
  EXPECT_EQ(resource.policy, (Policy{Division::kMps, 4}));
  EXPECT_EQ(resource.kind.As<NvidiaConfig>()->mps, (NvidiaConfig::Mps{.on = true}));
  EXPECT_EQ(resource.rendering.envs, (std::map<std::string, std::string>{
                                         {"CUDA_MPS_PIPE_DIRECTORY", "/mps/nvidia.com/gpu/pipe"}}));
  EXPECT_EQ(
      resource.rendering.mounts,
      (std::vector<Mount>{{"/run/nvidia/mps/nvidia.com/gpu/pipe", "/mps/nvidia.com/gpu/pipe", true},
                          {"/run/nvidia/mps/shm", "/dev/shm", false}}));
}

TEST(MpsConfig, PlacesAndSizesAreTold) {
  const Config config = Good(
      "resources:\n"
      "- name: nvidia.com/gpu\n"
      "  policy: mps\n"
      "  replicas: 4\n"
      "  nvidia:\n"
      "    mps:\n"
      "      hostRoot: /data/mps\n"
      "      containerRoot: /mps\n"
      "      memory: 8192\n"
      "      threads: 50\n"
      "      sizes: [{index: 1, memory: 4096}, {model: \"*A100*\", uuid: GPU-1, memory: 1}]\n");
  const auto& mps = config.resources[0].kind.As<NvidiaConfig>()->mps;
  EXPECT_EQ(mps, (NvidiaConfig::Mps{.on = true,
                                    .root = "/data/mps",
                                    .container_root = "/mps",
                                    .memory = 8192,
                                    .threads = 50,
                                    .sizes = {{.index = "1", .memory = 4096},
                                              {.uuid = "GPU-1", .model = "*A100*", .memory = 1}}}));
  EXPECT_EQ(MpsDirectory(mps, "nvidia.com/gpu"), "/mps/nvidia.com/gpu");
  EXPECT_EQ(config.resources[0].rendering.mounts[1].host_path, "/data/mps/shm");
}

std::string MessagesFor(const std::string& resource) {
  const LoadResult result = LoadLines("resources:\n- {name: nvidia.com/gpu, " + resource + "}\n");
  std::string messages;
  for (const auto* problems : {&result.errors, &result.warnings}) {
    for (const Problem& problem : *problems) messages += problem.message + "\n";
  }
  return messages;
}

TEST(MpsConfig, WhatMpsCannotShareIsRefused) {
  EXPECT_EQ(MessagesFor("policy: mps, replicas: 49, nvidia: {}"),
            "resources[0].replicas is 49: MPS serves at most 48 clients on a GPU\n");
  EXPECT_EQ(
      MessagesFor("policy: mps, replicas: 2, nvidia: {mig: 1g.10gb}"),
      "resources[0].nvidia.mig cannot be combined with 'policy: mps': MPS shares whole GPUs\n");
  EXPECT_EQ(MessagesFor("policy: mps, replicas: 2, dummy: {}"),
            "resources[0].policy is 'mps', which devices of 'dummy' do not have\n");
  EXPECT_EQ(MessagesFor("policy: mps, nvidia: {}"),
            "resources[0].policy is 'mps' and needs the key 'replicas'\n");
  EXPECT_EQ(MessagesFor("policy: mps, replicas: 2, nvidia: {mps: {sizes: [{memory: 1}]}}"),
            "resources[0].nvidia.mps.sizes[0] needs one of 'index', 'uuid' and 'model'\n");
}

TEST(MpsConfig, WithoutThePolicyItHasNoEffect) {
  EXPECT_EQ(MessagesFor("nvidia: {mps: {memory: 1}}"),
            "resources[0].nvidia.mps has no effect without 'policy: mps' in the resource\n");
}

}  // namespace
}  // namespace tessera::nvidia
