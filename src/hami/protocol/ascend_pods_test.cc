// SPDX-License-Identifier: Apache-2.0
// Pods of Ascend's chips: annotations with the model's word, and a list of templates that stays.
#include "api/hami_cluster.h"
#include "base/clock.h"
#include "hami/protocol/hami_protocol.h"
#include "hami/vendor_table.h"

namespace tessera {
namespace {

using AscendPodsTest = HamiClusterTest;

TEST_F(AscendPodsTest, APodOfAChipSucceedsAndItsTemplatesStay) {
  const std::string die = "42C711D4-20B03704-4A10C8D4-14CC040A-D2102003";
  const std::string placed = die + ",Ascend910B3,16384,0:;";
  const std::string templates = "[{\"UUID\":\"" + die + "\",\"temp\":\"vir05_1c_16g\"}]";
  Object& pod = Placed("p", "");
  pod.annotations = {{"hami.io/vgpu-node", "n1"},
                     {"hami.io/bind-phase", "allocating"},
                     {"hami.io/Ascend910B3-devices-allocated", placed},
                     {"hami.io/Ascend910B3-devices-to-allocate", placed},
                     {"huawei.com/Ascend910B3", templates}};
  pod.asks = {{"huawei.com/Ascend910B3", 1}};
  FakeClock clock;
  const hami::Vendor& vendor = *hami::AscendRow("Ascend910B3")->vendor;
  HamiProtocol ascend(
      vendor, loop_, client(), "n1", nullptr,
      HamiProtocol::Times{.settle = Duration(5), .retries = {Duration(1), Duration(1)}}, clock);
  ascend.Serve({"huawei.com/Ascend910B3"});
  ascend.PodChanged(std::make_shared<const kube::Pod>(Seen("p")));
  ascend.Bound(HamiProtocol::BoundEntryOf({.pod_uid = "uid-p",
                                           .container = "main",
                                           .resource = "huawei.com/Ascend910B3",
                                           .parts = {{.device = die, .memory = 16'384}}},
                                          vendor));

  ASSERT_TRUE(RunUntil([&] { return Pod("p").annotations["hami.io/bind-phase"] == "success"; }));
  const Annotations& now = Pod("p").annotations;
  EXPECT_EQ(now.at("hami.io/Ascend910B3-devices-to-allocate"), ";;");
  EXPECT_EQ(now.at("hami.io/Ascend910B3-devices-allocated"), placed);
  EXPECT_EQ(now.at("huawei.com/Ascend910B3"), templates);
}

}  // namespace
}  // namespace tessera
