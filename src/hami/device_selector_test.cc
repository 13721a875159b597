// SPDX-License-Identifier: Apache-2.0
#include "hami/device_selector.h"

#include <gtest/gtest.h>

namespace tessera::hami {
namespace {

using List = std::vector<std::string>;

TEST(DeviceSelectorTest, EachAnnotationIsAListWithCommas) {
  kube::Pod pod;
  pod.annotations = {{"nvidia.com/use-gputype", "A100, H100"},
                     {"nvidia.com/nouse-gputype", "P4"},
                     {"nvidia.com/use-gpuuuid", "GPU-1,,GPU-2 ,"},
                     {"nvidia.com/nouse-gpuuuid", " "},
                     {"nvidia.com/vgpu-mode", " hami-core,mps"}};
  const DeviceSelector selector = SelectorOf(pod, kNvidia);
  EXPECT_EQ(selector.family, "NVIDIA");
  EXPECT_EQ(selector.modes, "hami-core,mps");
  EXPECT_EQ(selector.types, (List{"A100", "H100"}));
  EXPECT_EQ(selector.no_types, List{"P4"});
  EXPECT_EQ(selector.ids, (List{"GPU-1", "GPU-2"}));
  EXPECT_EQ(selector.no_ids, List{});
}

}  // namespace
}  // namespace tessera::hami
