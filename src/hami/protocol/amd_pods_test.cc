// SPDX-License-Identifier: Apache-2.0
// Pods of AMD's GPUs: other annotations, and models in place of the vendor's word.
#include "api/hami_cluster.h"
#include "base/clock.h"
#include "hami/protocol/hami_protocol.h"

namespace tessera {
namespace {

using AmdPodsTest = HamiClusterTest;

// Its scheduler writes the model where the agent has the vendor's word.
TEST_F(AmdPodsTest, APodOfAnAmdGpuSucceedsThoughItsTypeIsTheModel) {
  const std::string gpu = "8eff74b5-0000-1000-801b-b56457addd1b";
  const std::string placed = gpu + ",AMD Instinct MI300X VF,49152,76:;";
  Object& pod = Placed("p", "");
  pod.annotations = {{"hami.io/vgpu-node", "n1"},
                     {"hami.io/bind-phase", "allocating"},
                     {"hami.io/amd-devices-allocated", placed},
                     {"hami.io/amd-devices-to-allocate", placed}};
  pod.asks = {{"amd.com/gpu", 1}};
  FakeClock clock;
  HamiProtocol amd(
      hami::kAmd, loop_, client(), "n1", nullptr,
      HamiProtocol::Times{.settle = Duration(5), .retries = {Duration(1), Duration(1)}}, clock);
  amd.Serve({"amd.com/gpu"});
  amd.PodChanged(std::make_shared<const kube::Pod>(Seen("p")));
  amd.Bound(HamiProtocol::BoundEntryOf(
      {.pod_uid = "uid-p",
       .container = "main",
       .resource = "amd.com/gpu",
       .parts = {{.device = gpu, .memory = 49'152, .cores = 76, .units = "0-75"}}},
      hami::kAmd));

  ASSERT_TRUE(RunUntil([&] { return Pod("p").annotations["hami.io/bind-phase"] == "success"; }));
  const Annotations& now = Pod("p").annotations;
  EXPECT_EQ(now.at("hami.io/amd-devices-to-allocate"), ";;");
  EXPECT_EQ(now.at("hami.io/amd-devices-allocated"), placed);
  EXPECT_EQ(now.at("hami.io/amd-cu-allocated"), "{\"" + gpu + "\":\"0-75\"}");
}

}  // namespace
}  // namespace tessera
