// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cluster.h"

#include <gtest/gtest.h>

#include "hami/names.h"
#include "hami/node_register.h"

namespace tessera::scheduler {
namespace {

using Kind = kube::Container::Kind;

constexpr char kAllocated[] = "hami.io/vgpu-devices-allocated";

// Nodes "a" and "b" with one GPU of 8,000 MiB each, "GPU-a" and "GPU-b".
class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() : cluster_({hami::ServedVendor()}, {}) {
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
  // The pod's node, or "".
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

TEST_F(ClusterTest, WhatANamespaceMayHaveIsNotExceededOnAnyNode) {
  cluster_.PutNode(Node("b", 4000));
  cluster_.quotas().Put(
      {.quota_namespace = "team", .name = "gpus", .hard = {{"limits.nvidia.com/gpumem", "5000"}}});
  EXPECT_EQ(NodeFor(Pod("first", 3000)), "a");
  const FilterAnswer second = Filter(Pod("second", 3000));
  EXPECT_EQ(second.nodes, std::vector<std::string>{});
  EXPECT_EQ(second.unresolvable.at("a"),
            "the pod's namespace has too little limits.nvidia.com/gpumem left in its ResourceQuota "
            "gpus");

  // A percentage has a size only on a device: half of b's memory is less than half of a's.
  kube::Pod half = Pod("half", 0);
  half.containers[0].limits = {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem-percentage", "50"}};
  EXPECT_EQ(NodeFor(half), "b");
}

TEST_F(ClusterTest, APodMayHaveItsNodesSpread) {
  EXPECT_EQ(NodeFor(Pod("first", 3000)), "a");
  kube::Pod pod = Pod("second", 1000);
  pod.annotations[std::string(hami::kNodePolicy)] = "spread";
  EXPECT_EQ(NodeFor(pod), "b");
}

TEST_F(ClusterTest, OfAPodThatPrefersNodesKubeSchedulerChoosesAmongTheBest) {
  EXPECT_EQ(NodeFor(Pod("first", 4000)), "a");
  kube::Pod pod = Pod("second", 2000);
  pod.prefers_nodes = true;
  const FilterCall call{.pod = pod, .nodes = {"b", "a", "c"}};
  cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
  EXPECT_EQ(cluster_.Filter(call, clock_.Now()).nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(cluster_.IsHeld(pod.uid, "a"));
  // On a, a tenth of the slots and half of the memory are used.
  EXPECT_EQ(cluster_.Prioritize(call), (NodeScores{{"a", 2}, {"b", 0}, {"c", 0}}));

  ASSERT_TRUE(Place(pod, "b"));
  EXPECT_FALSE(cluster_.IsHeld(pod.uid, "a"));
  EXPECT_TRUE(cluster_.IsHeld(pod.uid, "b"));
}

TEST_F(ClusterTest, NodesThatNobodyWasAskedAboutAreEqual) {
  EXPECT_EQ(cluster_.Prioritize({.pod = Pod("first", 4000), .nodes = {"a", "b"}}),
            (NodeScores{{"a", 0}, {"b", 0}}));
}

TEST_F(ClusterTest, WhatIsHeldIsChosenAnewWhereSomebodyElseHasBoundAPodToIt) {
  const kube::Pod pod = Pod("held", 3000);
  cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
  ASSERT_EQ(NodeFor(pod), "a");
  kube::ClusterNode two = Node("a", 8000);
  two.annotations[std::string(hami::kNvidia.node_register)] =
      hami::EncodeRegister(std::vector<hami::RegisteredDevice>{{.id = "GPU-a",
                                                                .count = 10,
                                                                .devmem = 8000,
                                                                .devcore = 100,
                                                                .type = "NVIDIA A100",
                                                                .health = true},
                                                               {.id = "GPU-2",
                                                                .count = 10,
                                                                .devmem = 8000,
                                                                .devcore = 100,
                                                                .type = "NVIDIA A100",
                                                                .health = true}});
  cluster_.PutNode(two);
  cluster_.PutPod(Bound(Pod("other", 6000), "a", "GPU-a,NVIDIA,6000,0:;"));

  EXPECT_EQ(Place(pod, "a")->annotations.at(kAllocated), "GPU-2,NVIDIA,3000,0:;");

  cluster_.PutPod(Bound(Pod("another", 6000), "a", "GPU-2,NVIDIA,6000,0:;"));
  const auto late = Place(pod, "a");
  EXPECT_EQ(late ? "bound" : late.error().message, "node a: devices have too little memory left");
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

TEST_F(ClusterTest, ABindingForTheAgentHasNoPhaseThatItWouldHaveToEnd) {
  kube::ClusterNode node = Node("a", 8000);
  node.annotations["tessera.dev/agent"] = "0.1.0 late-bound";
  cluster_.PutNode(node);
  const kube::Pod pod = Pod("first", 3000);
  EXPECT_EQ(NodeFor(pod), "a");
  const auto binding = Place(pod, "a");
  ASSERT_TRUE(binding) << binding.error().message;
  EXPECT_EQ(binding->annotations,
            (kube::Texts{{"hami.io/bind-time", "1000"},
                         {"hami.io/vgpu-devices-allocated", "GPU-a,NVIDIA,3000,0:;"},
                         {"hami.io/vgpu-node", "a"},
                         {"hami.io/vgpu-time", "1000"}}));
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
  EXPECT_EQ(binding.error().message, "pod team/gone does not exist or no longer waits for a node");
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

// As HAMi 2.10 writes it: containers without a request have no entry.
TEST_F(ClusterTest, WhatAnAppContainerHasStaysWhenTheInitContainersHaveEnded) {
  kube::Pod pod = Pod("first", 8000);
  pod.containers.insert(pod.containers.begin(),
                        {.name = "init", .kind = Kind::kInit, .succeeded = true});
  cluster_.PutPod(Bound(pod, "a", "GPU-a,NVIDIA,8000,0:;"));
  EXPECT_EQ(NodeFor(Pod("second", 1000)), "b");
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
            "the devices of a pod on the node cannot be read");
  cluster_.RemovePod("uid-odd");
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
  cluster_.RemovePod("uid-first");
  EXPECT_EQ(cluster_.nodes(), 1U);
}

TEST_F(ClusterTest, ACordonedDeviceIsOneThatTheNodesListNamesAsAWhole) {
  kube::ClusterNode node = Node("a", 8000);
  node.annotations[std::string(hami::kNodeCordon)] = "GPU-ab, GPU-0";
  cluster_.PutNode(node);
  EXPECT_EQ(NodeFor(Pod("first", 8000)), "a");
  node.annotations[std::string(hami::kNodeCordon)] = "GPU-0, GPU-a";
  cluster_.PutNode(node);
  cluster_.RemovePod("uid-first");
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
            "the node's device registration cannot be read");
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

TEST_F(ClusterTest, AnUnknownPolicyOfNodesIsBinpack) {
  EXPECT_EQ(NodeFor(Pod("first", 3000)), "a");
  kube::Pod pod = Pod("second", 1000);
  pod.annotations[std::string(hami::kNodePolicy)] = "fewest";
  EXPECT_EQ(NodeFor(pod), "a");
}

TEST_F(ClusterTest, WeightsThatCannotBeReadAreSaidForEachNode) {
  kube::Pod pod = Pod("odd", 1000);
  pod.annotations[std::string(hami::kScoringWeights)] = "memory=2";
  EXPECT_EQ(Filter(pod).unresolvable.at("a"),
            "hami.io/device-scoring-weights is memory=2: a weight is missing; write weights such "
            "as 'slot=1,core=1,memory=3'");
}

// Node "m" has GPUs in shares and in MIG instances.
class MixedNodeTest : public ClusterTest {
 protected:
  MixedNodeTest() {
    std::vector<hami::RegisteredDevice> gpus;
    for (const char* id : {"GPU-0", "GPU-1"}) {
      gpus.push_back({.id = id,
                      .index = static_cast<uint32_t>(gpus.size()),
                      .count = 7,
                      .devmem = 40960,
                      .devcore = 100,
                      .type = "NVIDIA A100",
                      .mode = "hami-core",
                      .health = true});
    }
    gpus[1].mode = "mig";
    gpus[1].mig_profiles = {{"1g.5gb", 4864, 15, 1, {{0, 1}, {1, 1}}}};
    cluster_.PutNode(
        {.name = "m",
         .annotations = {{std::string(hami::kNvidia.node_register), hami::EncodeRegister(gpus)}}});
  }
  static kube::Pod Wanting(const std::string& name, const std::string& mode) {
    kube::Pod pod = Pod(name, 4000);
    pod.annotations[std::string(hami::kUseMode)] = mode;
    return pod;
  }
  // The pod's devices and instances, or the error.
  std::string BoundBy(const kube::Pod& pod) {
    cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
    const auto binding = Place(pod, "m");
    if (!binding) return binding.error().message;
    const auto mig = binding->annotations.find(hami::kPodMigAllocations);
    return binding->annotations.at(kAllocated) +
           (mig == binding->annotations.end() ? "" : mig->second);
  }
  static std::string Instance(int start) {
    return "GPU-1,NVIDIA,4864,15:;"
           R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-1","profile":"1g.5gb",)"
           R"("placement":{"start":)" +
           std::to_string(start) + R"(,"size":1}}])";
  }
};

TEST_F(MixedNodeTest, APodHasItsShareOnAGpuOfTheModeThatItWants) {
  EXPECT_EQ(BoundBy(Wanting("share", "hami-core")), "GPU-0,NVIDIA,4000,0:;");
  EXPECT_EQ(BoundBy(Wanting("first", "mig")), Instance(1));
  EXPECT_EQ(BoundBy(Wanting("second", "mig")), Instance(0));
  EXPECT_EQ(BoundBy(Wanting("third", "mig")),
            "node m: devices have no slice left that is large enough");
}

TEST_F(MixedNodeTest, InstancesOfBoundPodsAreTaken) {
  kube::Pod pod = *Bound(Pod("bound", 4000), "m", "GPU-1,NVIDIA,4864,15:;");
  const std::string own = Instance(1);
  pod.annotations[std::string(hami::kPodMigAllocations)] = own.substr(own.find('['));
  cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
  EXPECT_EQ(BoundBy(Wanting("next", "mig")), Instance(0));
}

TEST_F(MixedNodeTest, AGpuInMigModeOfWhichAPodHasAShareGetsNoMore) {
  cluster_.PutPod(Bound(Pod("bound", 4000), "m", "GPU-1,NVIDIA,4864,15:;"));
  EXPECT_EQ(BoundBy(Wanting("next", "mig")), "node m: the pods' shares of the devices are unknown");
}

TEST_F(MixedNodeTest, InstancesThatCannotBeReadCloseTheNode) {
  kube::Pod pod = *Bound(Pod("bound", 4000), "m", "GPU-1,NVIDIA,4864,15:;");
  pod.annotations[std::string(hami::kPodMigAllocations)] = "[{}]";
  cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
  EXPECT_EQ(BoundBy(Wanting("share", "hami-core")),
            "node m: the devices of a pod on the node cannot be read");
}

TEST(ClusterPoliciesTest, TheProgramsPoliciesHoldWhereAPodSaysNothingElse) {
  Cluster cluster({hami::ServedVendor()}, {.node = NodePolicy::kSpread, .device = "binpack"});
  std::vector<hami::RegisteredDevice> gpus;
  for (const char* id : {"GPU-0", "GPU-1"}) {
    gpus.push_back({.id = id,
                    .index = static_cast<uint32_t>(gpus.size()),
                    .count = 10,
                    .devmem = 8000,
                    .devcore = 100,
                    .type = "NVIDIA A100",
                    .health = true});
  }
  for (const char* name : {"a", "b"}) {
    cluster.PutNode(
        {.name = name,
         .annotations = {{std::string(hami::kNvidia.node_register), hami::EncodeRegister(gpus)}}});
  }
  kube::Pod pod{.uid = "uid-0", .node = "a"};
  pod.containers = {{.name = "main", .limits = {{"nvidia.com/gpu", "1"}}}};
  pod.annotations[kAllocated] = "GPU-0,NVIDIA,1000,0:;";
  cluster.PutPod(std::make_shared<const kube::Pod>(pod));
  pod.uid = "uid-1";
  pod.node = "";
  pod.annotations.clear();
  pod.containers[0].limits["nvidia.com/gpumem"] = "1000";
  cluster.PutPod(std::make_shared<const kube::Pod>(pod));
  EXPECT_EQ(cluster.Filter({.pod = pod, .nodes = {"a", "b"}}, {}).nodes,
            std::vector<std::string>{"b"});
  const auto on_a = cluster.PlaceOn({"", "", "uid-1", "a"}, {}, {});
  ASSERT_TRUE(on_a) << on_a.error().message;
  EXPECT_EQ(on_a->annotations.at(kAllocated), "GPU-0,NVIDIA,1000,0:;");
}

TEST_F(ClusterTest, ASizeThatCannotBeReadIsSaidForEachNode) {
  kube::Pod pod = Pod("odd", 1000);
  pod.containers[0].limits["nvidia.com/gpumem"] = "-1";
  EXPECT_EQ(Filter(pod).unresolvable.at("a"),
            "container main asks for -1 of nvidia.com/gpumem: write how many MiB of each device, a "
            "whole number from 0 to 2147483647");
}

TEST_F(ClusterTest, ASimulatedCallThatFindsANodeLeavesARefusedPodRefused) {
  EXPECT_EQ(NodeFor(Pod("a", 8000)), "a");
  EXPECT_EQ(NodeFor(Pod("b", 8000)), "b");
  const kube::Pod pod = Pod("waits", 8000);
  EXPECT_EQ(NodeFor(pod), "");
  cluster_.DropHold("uid-a");

  (void)cluster_.Filter({.pod = pod, .nodes = {"a"}, .simulated = true}, clock_.Now());

  EXPECT_EQ(cluster_.ToWake(clock_.Now()).size(), 0U);
  EXPECT_EQ(cluster_.ToWake(clock_.Now()).size(), 1U);
}

TEST_F(ClusterTest, ANodeNeedsItsLockUnlessItsAgentsGrantsAreLateBound) {
  EXPECT_TRUE(cluster_.NeedsLock("nobody", "a"));
  EXPECT_TRUE(cluster_.NeedsLock("nobody", "unknown"));
  kube::ClusterNode node = Node("a", 8000);
  node.annotations["tessera.dev/agent"] = "0.1.0 late-bound";
  cluster_.PutNode(node);
  EXPECT_FALSE(cluster_.NeedsLock("nobody", "a"));
  // `tessera uninstall` removes the mark.
  cluster_.PutNode(Node("a", 8000));
  EXPECT_TRUE(cluster_.NeedsLock("nobody", "a"));
}

}  // namespace
}  // namespace tessera::scheduler
