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
  const DeviceSelector selector = SelectorOf(pod, kNvidia).value();
  EXPECT_EQ(selector.family, "NVIDIA");
  EXPECT_EQ(selector.modes, "hami-core,mps");
  EXPECT_EQ(selector.types, (List{"A100", "H100"}));
  EXPECT_EQ(selector.no_types, List{"P4"});
  EXPECT_EQ(selector.ids, (List{"GPU-1", "GPU-2"}));
  EXPECT_EQ(selector.no_ids, List{});
}

TEST(DeviceSelectorTest, ARepeatedEntryCountsOnce) {
  EXPECT_EQ(ListIn("b,a,b, a"), (List{"b", "a"}));
}

TEST(DeviceSelectorTest, TooLongAListIsRefused) {
  const auto trouble = [](const char* key, int entries) {
    std::string list;
    for (int i = 0; i < entries; ++i) list += "," + std::to_string(i);
    kube::Pod pod;
    pod.annotations = {{key, list}};
    const auto selector = SelectorOf(pod, kNvidia);
    EXPECT_TRUE(selector || selector.error().reason == Reason::kBadSize);
    return selector ? "" : selector.error().message;
  };
  EXPECT_EQ(trouble("nvidia.com/use-gputype", 64), "");
  EXPECT_EQ(trouble("nvidia.com/nouse-gputype", 65),
            "annotation nvidia.com/nouse-gputype has 65 entries; it may have 64");
  EXPECT_EQ(trouble("nvidia.com/use-gpuuuid", 1024), "");
  EXPECT_EQ(trouble("nvidia.com/use-gpuuuid", 1025),
            "annotation nvidia.com/use-gpuuuid has 1025 entries; it may have 1024");
}

}  // namespace
}  // namespace tessera::hami
