// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "hami/node_register.h"
#include "scheduler/cluster.h"

namespace tessera::scheduler {
namespace {

// Nodes "a" and "b" have one GPU of 8,000 MiB each. On a, pod "large-a" holds 4,000 MiB and
// "small-a" 2,000; on b, "large-b" and "small-b" hold the same.
class ClusterPreemptTest : public ::testing::Test {
 protected:
  ClusterPreemptTest() {
    for (const std::string node : {"a", "b"}) {
      const hami::RegisteredDevice gpu{.id = "GPU-" + node,
                                       .count = 10,
                                       .devmem = 8000,
                                       .devcore = 100,
                                       .type = "NVIDIA A100",
                                       .health = true};
      cluster_.PutNode({.name = node,
                        .annotations = {{std::string(hami::kNvidia.node_register),
                                         hami::EncodeRegister(std::vector{gpu})}}});
      Bind("large", node, 4000);
      Bind("small", node, 2000);
    }
  }
  static kube::Pod Pod(const std::string& name, int memory) {
    kube::Container main{.name = "main"};
    main.limits["nvidia.com/gpu"] = "1";
    main.limits["nvidia.com/gpumem"] = std::to_string(memory);
    return {.uid = name, .pod_namespace = "team", .name = name, .containers = {main}};
  }
  void Bind(const std::string& name, const std::string& node, int memory) {
    kube::Pod pod = Pod(name + "-" + node, memory);
    pod.node = node;
    pod.phase = kube::Pod::Phase::kRunning;
    pod.annotations["hami.io/vgpu-devices-allocated"] =
        "GPU-" + node + ",NVIDIA," + std::to_string(memory) + ",0:;";
    cluster_.PutPod(std::make_shared<const kube::Pod>(std::move(pod)));
  }

  Cluster cluster_{{hami::ServedVendor()}, {}};
};

TEST_F(ClusterPreemptTest, PodsAreEvictedWhereThatMakesRoomForThePod) {
  const Victims large{.uids = {"large-a"}, .violations = 1};
  const Victims small{.uids = {"small-b"}};
  const Victims unknown{.uids = {"x"}};
  EXPECT_EQ(cluster_.Preempt({.pod = Pod("urgent", 6000),
                              .nodes = {{"a", large}, {"b", small}, {"c", unknown}}}),
            (VictimsByNode{{"a", large}}));
}

TEST_F(ClusterPreemptTest, PodsOfOthersMayBeEvictedWhereThereIsRoomAlready) {
  const Victims plain{.uids = {"plain"}};
  EXPECT_EQ(cluster_.Preempt({.pod = Pod("urgent", 1000), .nodes = {{"a", plain}}}),
            (VictimsByNode{{"a", plain}}));
}

TEST_F(ClusterPreemptTest, APodThatAsksForNothingOfOursKeepsItsVictims) {
  kube::Pod plain = Pod("plain", 1000);
  plain.containers[0].limits.clear();
  const VictimsByNode victims{{"c", {.uids = {"x"}}}};
  EXPECT_EQ(cluster_.Preempt({.pod = plain, .nodes = victims}), victims);
}

TEST_F(ClusterPreemptTest, NobodyIsEvictedForAPodWhoseRequestCannotBeRead) {
  kube::Pod pod = Pod("urgent", 1000);
  pod.containers[0].limits["nvidia.com/gpumem"] = "16Gi";
  EXPECT_EQ(cluster_.Preempt({.pod = pod, .nodes = {{"a", {.uids = {"large-a"}}}}}),
            VictimsByNode());
}

}  // namespace
}  // namespace tessera::scheduler
