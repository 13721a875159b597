// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cluster.h"

#include <gtest/gtest.h>

#include "hami/names.h"
#include "hami/node_register.h"

namespace tessera::scheduler {
namespace {

using Kind = kube::Container::Kind;

constexpr char kAllocated[] = "hami.io/vgpu-devices-allocated";

RequestRules Rules() {
  return RulesOf(std::string(hami::kNvidia.count), hami::kNvidia.Requests());
}

// Nodes "a" and "b" with one GPU of 8,000 MiB each, "GPU-a" and "GPU-b".
class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() : cluster_(hami::kNvidia, Rules(), {}) {
    cluster_.PutNode(Node("a", 8000));
    cluster_.PutNode(Node("b", 8000));
  }
  static kube::ClusterNode Node(const std::string& name, int memory, bool healthy = true) {
    const hami::RegisteredDevice gpu{.id = "GPU-" + name,
                                     .count = 10,
                                     .devmem = memory,
                                     .devcore = 100,
                                     .type = "NVIDIA A100",
                                     .health = healthy};
    return {.name = name,
            .uid = "node-" + name,
            .annotations = {{std::string(hami::kNvidia.node_register),
                             hami::EncodeRegister(std::vector{gpu})}}};
  }
  static kube::Pod Pod(const std::string& name, int memory) {
    kube::Container main{.name = "main"};
    main.limits["nvidia.com/gpu"] = "1";
    main.limits["nvidia.com/gpumem"] = std::to_string(memory);
    return {.uid = "uid-" + name, .pod_namespace = "team", .name = name, .containers = {main}};
  }
  static kube::PodPtr Bound(kube::Pod pod, const std::string& node, const std::string& allocated) {
    pod.node = node;
    pod.phase = kube::Pod::Phase::kRunning;
    pod.annotations[kAllocated] = allocated;
    return std::make_shared<const kube::Pod>(std::move(pod));
  }
  FilterAnswer Filter(const kube::Pod& pod) {
    return cluster_.Filter({.pod = pod, .nodes = {"a", "b", "c"}}, clock_.Now());
  }
  // Where it is placed, or "".
  std::string NodeFor(const kube::Pod& pod) {
    const FilterAnswer answer = Filter(pod);
    return answer.nodes.empty() ? "" : answer.nodes.front();
  }
  Result<kube::Binding> Place(const kube::Pod& pod, const std::string& node) {
    return cluster_.PlaceOn({"team", pod.name, pod.uid, node}, clock_.Now(), clock_.WallNow());
  }

  FakeClock clock_;
  Cluster cluster_;
};

TEST_F(ClusterTest, TheFullestNodeWithRoomIsChosenAndWithoutOneEachSaysWhy) {
  EXPECT_EQ(NodeFor(Pod("first", 3000)), "a");
  EXPECT_EQ(NodeFor(Pod("second", 5000)), "a");
  EXPECT_EQ(NodeFor(Pod("third", 8000)), "b");
  const FilterAnswer fourth = Filter(Pod("fourth", 8000));
  EXPECT_EQ(fourth.nodes, std::vector<std::string>{});
  EXPECT_EQ(fourth.failed,
            (std::map<std::string, std::string>{{"a", "devices have too little memory left"},
                                                {"b", "devices have too little memory left"}}));
  EXPECT_EQ(fourth.unresolvable,
            (std::map<std::string, std::string>{{"c", "the node has registered no devices"}}));
}

TEST_F(ClusterTest, APodMayHaveItsNodesSpread) {
  EXPECT_EQ(NodeFor(Pod("first", 3000)), "a");
  kube::Pod pod = Pod("second", 1000);
  pod.annotations[std::string(hami::kNodePolicy)] = "spread";
  EXPECT_EQ(NodeFor(pod), "b");
}

TEST_F(ClusterTest, WhoAsksForNothingOfOursGetsAllNodes) {
  kube::Pod pod = Pod("plain", 0);
  pod.containers[0].limits.clear();
  EXPECT_EQ(Filter(pod).nodes, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(ClusterTest, APodThatIsFilteredAgainHoldsRoomOnce) {
  EXPECT_EQ(NodeFor(Pod("first", 8000)), "a");
  EXPECT_EQ(NodeFor(Pod("first", 8000)), "a");
  EXPECT_EQ(NodeFor(Pod("second", 8000)), "b");
  EXPECT_EQ(NodeFor(Pod("third", 8000)), "");
}

TEST_F(ClusterTest, ASimulatedCallHoldsNothing) {
  const FilterCall call{.pod = Pod("guess", 8000), .nodes = {"a"}, .simulated = true};
  EXPECT_EQ(cluster_.Filter(call, clock_.Now()).nodes, std::vector<std::string>{"a"});
  EXPECT_EQ(cluster_.holds(), 0U);
  EXPECT_EQ(cluster_.Filter(call, clock_.Now()).nodes, std::vector<std::string>{"a"});
}

TEST_F(ClusterTest, ABindingHasWhatIsHeldInItsAnnotations) {
  const kube::Pod pod = Pod("first", 3000);
  EXPECT_EQ(NodeFor(pod), "a");
  const auto binding = Place(pod, "a");
  ASSERT_TRUE(binding) << binding.error().message;
  EXPECT_EQ(binding->uid, "uid-first");
  EXPECT_EQ(binding->node, "a");
  EXPECT_EQ(binding->annotations,
            (kube::Texts{{"hami.io/bind-phase", "allocating"},
                         {"hami.io/bind-time", "1000"},
                         {"hami.io/vgpu-devices-allocated", "GPU-a,NVIDIA,3000,0:;"},
                         {"hami.io/vgpu-devices-to-allocate", "GPU-a,NVIDIA,3000,0:;"},
                         {"hami.io/vgpu-node", "a"},
                         {"hami.io/vgpu-time", "1000"}}));
  EXPECT_EQ(binding->labels, (kube::Texts{{"hami.io/vgpu-node", "a"}}));
}

TEST_F(ClusterTest, ABindToAnotherNodePlacesThePodThere) {
  const kube::Pod pod = Pod("first", 3000);
  cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
  EXPECT_EQ(NodeFor(pod), "a");
  const auto binding = Place(pod, "b");
  ASSERT_TRUE(binding) << binding.error().message;
  EXPECT_EQ(binding->annotations.at(kAllocated), "GPU-b,NVIDIA,3000,0:;");
  EXPECT_EQ(NodeFor(Pod("second", 8000)), "a");
}

TEST_F(ClusterTest, ABindWhereThereIsNoRoomIsRefused) {
  EXPECT_EQ(NodeFor(Pod("first", 8000)), "a");
  const kube::Pod pod = Pod("second", 3000);
  cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
  const auto binding = Place(pod, "a");
  ASSERT_FALSE(binding);
  EXPECT_EQ(binding.error().reason, Reason::kNoRoom);
  EXPECT_EQ(binding.error().message, "node a: devices have too little memory left");
}

TEST_F(ClusterTest, ABindOfAPodThatDoesNotWaitIsRefused) {
  const auto binding = Place(Pod("gone", 3000), "a");
  ASSERT_FALSE(binding);
  EXPECT_EQ(binding.error().message, "pod team/gone is not there, or not to be bound any more");
}

TEST_F(ClusterTest, WhatABoundPodHasCountsOnceAndUntilItHasEnded) {
  const kube::Pod pod = Pod("first", 8000);
  EXPECT_EQ(NodeFor(pod), "a");
  cluster_.PutPod(Bound(pod, "a", "GPU-a,NVIDIA,8000,0:;"));
  EXPECT_EQ(cluster_.holds(), 0U);
  EXPECT_EQ(NodeFor(Pod("second", 1000)), "b");
  kube::Pod ended = *Bound(pod, "a", "GPU-a,NVIDIA,8000,0:;");
  ended.phase = kube::Pod::Phase::kSucceeded;
  cluster_.PutPod(std::make_shared<const kube::Pod>(ended));
  EXPECT_EQ(NodeFor(Pod("third", 8000)), "a");
}

TEST_F(ClusterTest, AnnotationsOfAPodThatIsNotBoundNeverCount) {
  kube::Pod pod = Pod("forged", 8000);
  pod.annotations[kAllocated] = "GPU-a,NVIDIA,8000,0:;";
  cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
  EXPECT_EQ(NodeFor(Pod("first", 8000)), "a");
}

TEST_F(ClusterTest, ANodeGetsNoPodsWhileItIsNotKnownWhatOneHas) {
  cluster_.PutPod(Bound(Pod("odd", 1000), "a", "GPU-a,NVIDIA,x,0:;"));
  EXPECT_EQ(NodeFor(Pod("first", 8000)), "b");
  EXPECT_EQ(Filter(Pod("second", 1000)).failed.at("a"),
            "it is not known what a pod of the node has");
  cluster_.RemovePod(Pod("odd", 1000));
  EXPECT_EQ(NodeFor(Pod("second", 8000)), "a");
}

TEST_F(ClusterTest, WhatPodsHaveOutlivesTheirNodesRegistration) {
  cluster_.PutPod(Bound(Pod("first", 8000), "a", "GPU-a,NVIDIA,8000,0:;"));
  cluster_.RemoveNode("a");
  EXPECT_EQ(NodeFor(Pod("second", 1000)), "b");
  cluster_.PutNode(Node("a", 8000));
  EXPECT_EQ(NodeFor(Pod("third", 8000)), "");
}

TEST_F(ClusterTest, WhatIsNotKnownOfAPodOutlivesItsNodesRegistrationToo) {
  cluster_.PutPod(Bound(Pod("odd", 1000), "a", "GPU-a,NVIDIA,x,0:;"));
  cluster_.RemoveNode("a");
  cluster_.PutNode(Node("a", 8000));
  EXPECT_EQ(NodeFor(Pod("first", 8000)), "b");
}

TEST_F(ClusterTest, OfANodeThatIsGoneNothingIsLeftWhenItsPodsAre) {
  cluster_.PutPod(Bound(Pod("first", 8000), "a", "GPU-a,NVIDIA,8000,0:;"));
  cluster_.RemoveNode("a");
  EXPECT_EQ(cluster_.nodes(), 2U);
  cluster_.RemovePod(Pod("first", 8000));
  EXPECT_EQ(cluster_.nodes(), 1U);
}

TEST_F(ClusterTest, ACordonedDeviceIsOneThatTheNodesListNamesAsAWhole) {
  kube::ClusterNode node = Node("a", 8000);
  node.annotations[std::string(hami::kNodeCordon)] = "GPU-ab, GPU-0";
  cluster_.PutNode(node);
  EXPECT_EQ(NodeFor(Pod("first", 8000)), "a");
  node.annotations[std::string(hami::kNodeCordon)] = "GPU-0, GPU-a";
  cluster_.PutNode(node);
  cluster_.RemovePod(Pod("first", 8000));
  EXPECT_EQ(NodeFor(Pod("second", 8000)), "b");
}

TEST_F(ClusterTest, ADeviceIsHealthyAsItsNodeSaysLast) {
  cluster_.PutNode(Node("a", 8000, false));
  EXPECT_EQ(NodeFor(Pod("first", 1000)), "b");
  cluster_.PutNode(Node("a", 8000, true));
  EXPECT_EQ(NodeFor(Pod("second", 8000)), "a");
}

TEST_F(ClusterTest, ANodeWhoseRegistrationCannotBeReadGetsNoPods) {
  kube::ClusterNode node = Node("a", 8000);
  node.annotations[std::string(hami::kNvidia.node_register)] = "GPUs";
  cluster_.PutNode(node);
  EXPECT_EQ(NodeFor(Pod("first", 8000)), "b");
  EXPECT_EQ(Filter(Pod("second", 8000)).unresolvable.at("a"),
            "the node's registration of its devices cannot be read");
}

TEST_F(ClusterTest, EqualNodesGoByTheirNamesInWhicheverOrderTheyCome) {
  const FilterCall call{.pod = Pod("first", 1000), .nodes = {"b", "a"}};
  EXPECT_EQ(cluster_.Filter(call, clock_.Now()).nodes, std::vector<std::string>{"a"});
}

TEST_F(ClusterTest, AHoldGoesWhenItIsDroppedAndWhenNobodyAskedForItInAWhile) {
  EXPECT_EQ(NodeFor(Pod("first", 8000)), "a");
  cluster_.DropHold("uid-first");
  EXPECT_EQ(NodeFor(Pod("second", 8000)), "a");
  clock_.Advance(Duration(1000));
  EXPECT_EQ(NodeFor(Pod("third", 8000)), "b");
  cluster_.DropHoldsBefore(clock_.Now());
  EXPECT_EQ(cluster_.holds(), 1U);
  EXPECT_EQ(NodeFor(Pod("fourth", 8000)), "a");
}

TEST_F(ClusterTest, ASizeThatCannotBeReadIsSaidForEachNode) {
  kube::Pod pod = Pod("odd", 1000);
  pod.containers[0].limits["nvidia.com/gpumem"] = "-1";
  EXPECT_EQ(Filter(pod).unresolvable.at("a"),
            "container main asks for -1 of nvidia.com/gpumem, which is no number below 2^31");
}

TEST_F(ClusterTest, ANodeNeedsItsLockUnlessItsAgentsGrantsAreLateBound) {
  EXPECT_TRUE(cluster_.NeedsLock("a"));
  EXPECT_TRUE(cluster_.NeedsLock("unknown"));
  kube::ClusterNode node = Node("a", 8000);
  node.annotations["tessera.dev/agent"] = "0.1.0 late-bound";
  cluster_.PutNode(node);
  EXPECT_FALSE(cluster_.NeedsLock("a"));
  // tessera uninstall takes the mark away.
  cluster_.PutNode(Node("a", 8000));
  EXPECT_TRUE(cluster_.NeedsLock("a"));
}

}  // namespace
}  // namespace tessera::scheduler
