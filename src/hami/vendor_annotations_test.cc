// SPDX-License-Identifier: Apache-2.0
#include "hami/vendor_annotations.h"

#include <gtest/gtest.h>

namespace tessera::hami {
namespace {

const PodPlacement kPlaced = {{.name = "a", .parts = {{"d0", 16'384, 0}}},
                              {.name = "b", .parts = {{"d1", 65'536, 0}}}};

kube::Texts AnnotationsOf(const ServedVendor& served, std::string_view mode,
                          FoundBy found_by = FoundBy::kPlugin) {
  return PlacementAnnotations(kPlaced, served, mode, "worker-1", found_by,
                              Wall(std::chrono::seconds(7)));
}

TEST(VendorAnnotations, SayWhatEachContainerGetsAndForWhichNode) {
  EXPECT_EQ(
      AnnotationsOf({}, ""),
      (kube::Texts{{"hami.io/vgpu-devices-allocated", "d0,NVIDIA,16384,0:;d1,NVIDIA,65536,0:;"},
                   {"hami.io/vgpu-devices-to-allocate", "d0,NVIDIA,16384,0:;d1,NVIDIA,65536,0:;"},
                   {"hami.io/vgpu-node", "worker-1"},
                   {"hami.io/vgpu-time", "7"},
                   {"hami.io/bind-phase", "allocating"},
                   {"hami.io/bind-time", "7"}}));
}

TEST(VendorAnnotations, ForTheAgentThereIsNothingToTakeOffAndNoPhaseToEnd) {
  EXPECT_EQ(
      AnnotationsOf({}, "", FoundBy::kAgent),
      (kube::Texts{{"hami.io/vgpu-devices-allocated", "d0,NVIDIA,16384,0:;d1,NVIDIA,65536,0:;"},
                   {"hami.io/vgpu-node", "worker-1"},
                   {"hami.io/vgpu-time", "7"},
                   {"hami.io/bind-time", "7"}}));
}

TEST(VendorAnnotations, NameTheTemplateOfEachDeviceWhereThePluginReadsIt) {
  const VendorTable table({UsualConfigs("ascend")[2]});
  const kube::Texts annotations = AnnotationsOf(table.rows()[0], "template");
  EXPECT_EQ(annotations.at("huawei.com/Ascend910B3"),
            R"([{"UUID":"d0","temp":"vir05_1c_16g"},{"UUID":"d1"}])");
  EXPECT_EQ(annotations.at("predicate-time"), "7");
  EXPECT_EQ(AnnotationsOf(table.rows()[0], "hami-core").at("huawei.com/Ascend910B3"),
            R"([{"UUID":"d0","memory":16384,"core":0},{"UUID":"d1","memory":65536,"core":0}])");
}

}  // namespace
}  // namespace tessera::hami
