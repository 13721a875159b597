// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "hami/names.h"
#include "hami/node_register.h"
#include "scheduler/cluster.h"

namespace tessera::scheduler {
namespace {

// Node "shares" has registered a GPU of 8,000 MiB. Node "whole" has eight unregistered GPUs.
class ClusterWholeTest : public ::testing::Test {
 protected:
  ClusterWholeTest() {
    cluster_.PutNode(Registered("shares"));
    cluster_.PutNode({.name = "whole", .allocatable = {{"nvidia.com/gpu", "8"}}});
  }
  static kube::ClusterNode Registered(const std::string& name) {
    const hami::RegisteredDevice gpu{.id = "GPU-" + name,
                                     .count = 10,
                                     .devmem = 8000,
                                     .devcore = 100,
                                     .type = "NVIDIA A100",
                                     .health = true};
    return {.name = name,
            .annotations = {{std::string(hami::kNvidia.node_register),
                             hami::EncodeRegister(std::vector{gpu})}},
            .allocatable = {{"nvidia.com/gpu", "10"}}};
  }
  kube::Pod Waiting(const std::string& name, const kube::Texts& limits) {
    const kube::Container main{.name = "main", .limits = limits};
    const kube::Pod pod{
        .uid = "uid-" + name, .pod_namespace = "team", .name = name, .containers = {main}};
    cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
    return pod;
  }
  FilterAnswer Filter(const kube::Pod& pod, const std::vector<std::string_view>& nodes) {
    return cluster_.Filter({.pod = pod, .nodes = nodes}, {});
  }

  Cluster cluster_{{hami::ServedVendor()}, {}};
};

TEST_F(ClusterWholeTest, ANodeOfWholeDevicesTakesPodsThatWantAllOfAny) {
  const kube::Pod pod = Waiting("train", {{"nvidia.com/gpu", "2"}});
  ASSERT_EQ(Filter(pod, {"shares", "whole"}).nodes, std::vector<std::string>{"whole"});
  EXPECT_FALSE(cluster_.NeedsLock("nobody", "whole"));
  const auto binding = cluster_.PlaceOn({"team", "train", "uid-train", "whole"}, {}, {});
  ASSERT_TRUE(binding) << binding.error().message;
  EXPECT_EQ(binding->node, "whole");
  EXPECT_EQ(binding->annotations, kube::Texts());
  EXPECT_EQ(binding->labels, kube::Texts());
}

TEST_F(ClusterWholeTest, NoPodThatWantsAPartComesThere) {
  const kube::Pod pod = Waiting("part", {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "9000"}});
  EXPECT_EQ(Filter(pod, {"whole"}).unresolvable,
            (std::map<std::string, std::string>{
                {"whole", "the node offers only whole devices, without a choice"}}));
}

TEST_F(ClusterWholeTest, NorOneWhoseNamespaceMayHaveSoMuchMemory) {
  cluster_.quotas().Put(
      {.quota_namespace = "team", .name = "gpus", .hard = {{"limits.nvidia.com/gpumem", "5000"}}});
  const kube::Pod pod = Waiting("train", {{"nvidia.com/gpu", "2"}});
  EXPECT_EQ(Filter(pod, {"whole"}).unresolvable,
            (std::map<std::string, std::string>{{"whole",
                                                 "a ResourceQuota counts memory or compute time, "
                                                 "unknown for the node's whole devices"}}));
}

TEST_F(ClusterWholeTest, WhatIsHeldIsChosenAnewWhereTheNodeHasRegisteredItsDevices) {
  const kube::Pod pod = Waiting("train", {{"nvidia.com/gpu", "1"}});
  ASSERT_EQ(Filter(pod, {"whole"}).nodes, std::vector<std::string>{"whole"});
  cluster_.PutNode(Registered("whole"));
  EXPECT_TRUE(cluster_.NeedsLock("nobody", "whole"));
  const auto binding = cluster_.PlaceOn({"team", "train", "uid-train", "whole"}, {}, {});
  ASSERT_TRUE(binding) << binding.error().message;
  EXPECT_EQ(binding->annotations.at("hami.io/vgpu-devices-allocated"), "GPU-whole,NVIDIA,8000,0:;");
}

TEST_F(ClusterWholeTest, ANodeThatIsGoneTakesNone) {
  cluster_.RemoveNode("whole");
  const kube::Pod pod = Waiting("train", {{"nvidia.com/gpu", "2"}});
  EXPECT_EQ(Filter(pod, {"whole"}).unresolvable,
            (std::map<std::string, std::string>{{"whole", "the node has registered no devices"}}));
  EXPECT_EQ(cluster_.nodes(), 1U);
}

}  // namespace
}  // namespace tessera::scheduler
