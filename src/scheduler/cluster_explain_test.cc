// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "hami/names.h"
#include "hami/node_register.h"
#include "placement/placement.h"
#include "scheduler/cluster.h"

namespace tessera::scheduler {
namespace {

using Names = std::vector<std::string>;

// Node "a" with one GPU of 8,000 MiB.
class ClusterExplainTest : public ::testing::Test {
 protected:
  ClusterExplainTest() : cluster_({hami::ServedVendor()}, {}) {
    const hami::RegisteredDevice gpu{.id = "GPU-a",
                                     .count = 10,
                                     .devmem = 8000,
                                     .devcore = 100,
                                     .type = "NVIDIA A100",
                                     .health = true};
    cluster_.PutNode({.name = "a",
                      .uid = "node-a",
                      .annotations = {{std::string(hami::kNvidia.node_register),
                                       hami::EncodeRegister(std::vector{gpu})}}});
  }
  static kube::Pod Pod(const std::string& name, int memory) {
    kube::Container main{.name = "main"};
    main.limits["nvidia.com/gpu"] = "1";
    main.limits["nvidia.com/gpumem"] = std::to_string(memory);
    return {.uid = "uid-" + name, .pod_namespace = "team", .name = name, .containers = {main}};
  }
  void Filter(const kube::Pod& pod) {
    cluster_.PutPod(std::make_shared<const kube::Pod>(pod));
    (void)cluster_.Filter({.pod = pod, .nodes = {"a", "b"}}, clock_.Now());
  }
  void Bind(const std::string& name, int memory) {
    kube::Pod pod = Pod(name, memory);
    pod.node = "a";
    pod.phase = kube::Pod::Phase::kRunning;
    pod.annotations["hami.io/vgpu-devices-allocated"] =
        "GPU-a,NVIDIA," + std::to_string(memory) + ",0:;";
    cluster_.PutPod(std::make_shared<const kube::Pod>(std::move(pod)));
  }
  Explanation Explain(const std::string& pod) {
    clock_.Advance(Duration(5'000));
    return cluster_.Explain(pod, clock_.Now());
  }

  FakeClock clock_;
  Cluster cluster_;
};

TEST_F(ClusterExplainTest, ARefusedPodsNodesSayWhatIsMissingAndWhoHasIt) {
  Bind("small", 1000);
  Bind("large", 4000);
  Filter(Pod("waits", 5000));

  const Explanation told = Explain("team/waits");

  EXPECT_EQ(told.state, "no node fits");
  EXPECT_EQ(told.tried_seconds_ago, 5);
  EXPECT_EQ(told.groups,
            (RefusalGroups{{"devices have too little memory left", {.count = 1, .nodes = {"a"}}},
                           {"the node has registered no devices", {.count = 1, .nodes = {"b"}}}}));
  EXPECT_EQ(told.blockers, (std::map<std::string, Names>{{"a", {"team/large"}}}));
}

TEST_F(ClusterExplainTest, WhereOnePodIsNotEnoughSeveralAreNamed) {
  Bind("one", 3000);
  Bind("two", 3000);
  Filter(Pod("waits", 8000));

  EXPECT_EQ(Explain("team/waits").blockers,
            (std::map<std::string, Names>{{"a", {"team/one", "team/two"}}}));
}

TEST_F(ClusterExplainTest, APodThatFitsByNowWaitsToBeTried) {
  Bind("large", 4000);
  Filter(Pod("waits", 5000));
  kube::Pod gone = Pod("large", 4000);
  cluster_.RemovePod(gone.uid);

  const Explanation told = Explain("team/waits");

  EXPECT_EQ(told.state, "a node fits, and the pod waits for its next try");
  EXPECT_EQ(told.fit, Names{"a"});
}

TEST_F(ClusterExplainTest, WhereverAPodStandsIsSaid) {
  Filter(Pod("held", 1000));
  EXPECT_EQ(Explain("team/held").state, "room is held for it on node a");
  cluster_.BindingSent("uid-held");
  EXPECT_EQ(Explain("team/held").state, "a Binding was sent for node a");
  Bind("held", 1000);
  EXPECT_EQ(Explain("team/held").state, "it is bound to node a");
  EXPECT_EQ(Explain("team/other").state, "no pod of this name waits or has devices");
  cluster_.PutPod(std::make_shared<const kube::Pod>(Pod("new", 9000)));
  EXPECT_EQ(Explain("team/new").state, "no node fits, and kube-scheduler has not asked about it");
}

}  // namespace
}  // namespace tessera::scheduler
