// SPDX-License-Identifier: Apache-2.0
#include "hami/node_devices.h"

#include <gtest/gtest.h>

namespace tessera::hami {
namespace {

constexpr char kTwo[] =
    R"([{"id":"GPU-a","count":10,"devmem":8000,"devcore":100,"type":"NVIDIA A100",)"
    R"("mode":"hami-core","health":true},)"
    R"({"id":"GPU-b","index":1,"count":7,"devmem":8000,"devcore":100,"type":"NVIDIA A100",)"
    R"("numa":1,"mode":"mig","migProfiles":[{"name":"1g.5gb","memoryMB":4864,"core":15,)"
    R"("sliceCount":1,"placements":[{"start":0,"size":1},{"start":1,"size":1}]}]}])";

kube::Texts With(const char* registered, const char* scores = nullptr) {
  kube::Texts annotations{{std::string(kNvidia.node_register), registered}};
  if (scores != nullptr) annotations.emplace(kNvidia.node_score, scores);
  return annotations;
}

TEST(NodeDevicesTest, ADeviceIsAsItIsRegistered) {
  const auto devices = NodeDevicesOf(With(kTwo), kNvidia);
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_EQ(devices->size(), 2U);
  const CandidateDevice& first = devices->front();
  EXPECT_EQ(first.capacity, (DeviceCapacity{"GPU-a", 10, 8000, 100}));
  EXPECT_EQ(first.type, "NVIDIA A100");
  EXPECT_EQ(first.mode, "hami-core");
  EXPECT_TRUE(first.healthy);
  EXPECT_TRUE(first.profiles.empty());
  const CandidateDevice& second = devices->back();
  EXPECT_EQ(second.index, 1U);
  EXPECT_EQ(second.numa, 1);
  EXPECT_FALSE(second.healthy);
  EXPECT_EQ(second.profiles,
            (std::vector<SliceProfile>{{"1g.5gb", 4864, 15, 1, {{1, 1}, {0, 1}}}}));
}

TEST(NodeDevicesTest, NothingIsToBeHadOfADeviceInMigModeWithoutProfiles) {
  const auto devices =
      NodeDevicesOf(With(R"([{"id":"GPU-a","devmem":8000,"mode":"mig"}])"), kNvidia);
  ASSERT_TRUE(devices);
  EXPECT_EQ(devices->front().profiles, std::vector<SliceProfile>(1));
}

TEST(NodeDevicesTest, LinksAreByTheDevicesPlaces) {
  const auto devices =
      NodeDevicesOf(With(kTwo, R"([{"uuid":"GPU-b","score":{"GPU-a":120}}])"), kNvidia);
  ASSERT_TRUE(devices);
  EXPECT_EQ(devices->front().closeness, std::vector<int64_t>{});
  EXPECT_EQ(devices->back().closeness, (std::vector<int64_t>{120, 0}));
}

TEST(NodeDevicesTest, LinksThatCannotBeReadAreNotKnown) {
  const auto devices = NodeDevicesOf(With(kTwo, "GPU"), kNvidia);
  ASSERT_TRUE(devices);
  EXPECT_EQ(devices->back().closeness, std::vector<int64_t>{});
}

TEST(NodeDevicesTest, ARegistrationThatCannotBeReadIsNoList) {
  EXPECT_FALSE(NodeDevicesOf(With("GPU"), kNvidia));
  EXPECT_TRUE(NodeDevicesOf({}, kNvidia)->empty());
}

TEST(NodeDevicesTest, AVendorsRegisterMayBeText) {
  Vendor vendor{.node_register = "a.io/register", .node_register_format = Vendor::Register::kText};
  const auto devices =
      NodeDevicesOf({{"a.io/register", "d0,4,65536,100,DCU,1,true,7,hami-core:"}}, vendor);
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_EQ(devices->front().capacity, (DeviceCapacity{"d0", 4, 65536, 100}));
  EXPECT_EQ(devices->front().index, 7U);
  EXPECT_FALSE(NodeDevicesOf({{"a.io/register", "[]"}}, vendor));
}

TEST(NodeDevicesTest, GroupsAreByWhatThePluginAdds) {
  constexpr char kThree[] =
      R"([{"id":"a","custominfo":{"card":7,"how":"die"}},{"id":"b","custominfo":{"card":"x",)"
      R"("how":"die"}},{"id":"c","custominfo":{"card":7,"how":"die","more":{}}},{"id":"d"}])";
  const auto groups = [&](const Vendor& vendor) {
    std::vector<int32_t> all;
    const auto devices = NodeDevicesOf({{"r", kThree}}, vendor);
    for (const CandidateDevice& device : *devices) all.push_back(device.group);
    return all;
  };
  EXPECT_EQ(groups({.node_register = "r"}), (std::vector<int32_t>{-1, -1, -1, -1}));
  EXPECT_EQ(groups({.node_register = "r", .group_key = "card"}),
            (std::vector<int32_t>{0, 1, 0, 2}));
  EXPECT_EQ(groups({.node_register = "r",
                    .group_key = "card",
                    .group_if_key = "how",
                    .group_if_value = "die"}),
            (std::vector<int32_t>{0, 1, 0, -1}));
  const auto close = NodeDevicesOf(
      {{"r", kThree}}, {.node_register = "r", .several_closest = true, .group_key = "card"});
  EXPECT_EQ(close->front().closeness, (std::vector<int64_t>{1, 0, 1, 0}));
}

TEST(NodeDevicesTest, PairsAreByIndex) {
  const auto devices =
      NodeDevicesOf({{"r", R"([{"id":"a","index":3},{"id":"b","index":2},{"id":"c"}])"}},
                    {.node_register = "r", .together = Together::kPairs});
  EXPECT_EQ(devices->at(0).group, 1);
  EXPECT_EQ(devices->at(1).group, 1);
  EXPECT_EQ(devices->at(2).group, 0);
}

TEST(NodeDevicesTest, TheModeMayBeTheNodes) {
  const Vendor vendor{.node_register = "r", .node_mode = "m"};
  const auto mode = [&](const kube::Texts& annotations) {
    return NodeDevicesOf(annotations, vendor)->front().mode;
  };
  EXPECT_EQ(mode({{"r", R"([{"id":"a"}])"}}), "template");
  EXPECT_EQ(mode({{"r", R"([{"id":"a"}])"}, {"m", "false"}}), "template");
  EXPECT_EQ(mode({{"r", R"([{"id":"a"}])"}, {"m", "true"}}), "hami-core");
}

}  // namespace
}  // namespace tessera::hami
