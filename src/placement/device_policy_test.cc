// SPDX-License-Identifier: Apache-2.0
#include "placement/device_policy.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

// Devices with these scores. Each has its index as its NUMA node.
class DevicePolicyTest : public ::testing::Test {
 protected:
  void Put(const std::vector<float>& scores, const std::vector<int32_t>& numas = {}) {
    devices_.assign(scores.size(), {});
    roomy_.clear();
    for (size_t i = 0; i < scores.size(); ++i) {
      devices_[i].index = static_cast<uint32_t>(i);
      if (!numas.empty()) devices_[i].numa = numas[i];
      roomy_.push_back({i, &devices_[i], scores[i]});
    }
  }
  void Connect(std::vector<std::vector<int64_t>> points) {
    for (size_t i = 0; i < points.size(); ++i) devices_[i].closeness = points[i];
  }
  // The picked indices, in order.
  std::string Pick(const DevicePolicy& policy, size_t count) const {
    const auto picked = PickDevices(policy, count, roomy_);
    if (!picked) return "none";
    std::string places;
    for (const RoomyDevice& device : *picked) places += std::to_string(device.place);
    return places;
  }

  std::vector<CandidateDevice> devices_;
  std::vector<RoomyDevice> roomy_;
};

TEST_F(DevicePolicyTest, ScoresAreTenTimesWhatIsUsedOfEachKind) {
  EXPECT_EQ(ScoreOf({5, 2000, 30}, {10, 8000, 100}), 10.5F);
  EXPECT_EQ(ScoreOf({5, 2000, 30}, {10, 8000, 100}, {.containers = 0, .cores = 0, .memory = 3}),
            7.5F);
  EXPECT_EQ(ScoreOf({5, 2000, 0}, {10, 8000, 0}), 0);
}

TEST_F(DevicePolicyTest, TheFirstKeyThatTellsDevicesApartDecides) {
  Put({1, 2, 1, 2}, {0, 0, 1, 1});
  EXPECT_EQ(Pick({.keys = {EmptiestFirst, HighestNumaFirst}}, 4), "2031");
  EXPECT_EQ(Pick({.keys = {EmptiestFirst, LowestNumaFirst}}, 4), "0213");
  EXPECT_EQ(Pick({.keys = {FullestFirst, HighestNumaFirst}}, 4), "3120");
  EXPECT_EQ(Pick({.keys = {HighestNumaFirst, FullestFirst}}, 4), "3210");
}

TEST_F(DevicePolicyTest, OfEqualDevicesTheHighestIndexGoesFirstThenTheLastPlace) {
  Put({1, 1, 1});
  devices_[0].index = 7;
  devices_[1].index = devices_[2].index = 3;
  EXPECT_EQ(Pick({}, 3), "021");
}

TEST_F(DevicePolicyTest, AtOneNumaNodeTheFirstThatHasEnoughServes) {
  Put({1, 5, 6, 2}, {2, 1, 1, 0});
  const DevicePolicy policy{.keys = {HighestNumaFirst, EmptiestFirst},
                            .together = Together::kOneNuma};
  EXPECT_EQ(Pick(policy, 1), "0");
  EXPECT_EQ(Pick(policy, 2), "12");
  EXPECT_EQ(Pick(policy, 3), "none");
}

TEST_F(DevicePolicyTest, TheClosestDevicesAreThoseWithTheMostPoints) {
  Put({0, 0, 0, 0});
  Connect({{0, 9, 1, 1}, {9, 0, 1, 1}, {1, 1, 0, 2}, {1, 1, 2, 0}});
  const DevicePolicy policy{.closest = true};
  EXPECT_EQ(Pick(policy, 2), "10");
  EXPECT_EQ(Pick(policy, 3), "310");
  EXPECT_EQ(Pick(policy, 4), "3210");
}

TEST_F(DevicePolicyTest, ASingleDeviceIsTheFarthestFromTheOthers) {
  Put({0, 0, 0, 0});
  Connect({{0, 9, 1, 1}, {9, 0, 1, 1}, {1, 1, 0, 2}, {1, 1, 2, 0}});
  EXPECT_EQ(Pick({.closest = true}, 1), "3");  // as far as 2, and before it
}

TEST_F(DevicePolicyTest, WithoutLinksTheFirstInOrderAreTheClosest) {
  Put({3, 1, 2});
  EXPECT_EQ(Pick({.closest = true}, 2), "12");
  EXPECT_EQ(Pick({.closest = true}, 1), "1");
}

TEST_F(DevicePolicyTest, OfTooManySetsThoseOfTheFirstDevicesAreLookedAt) {
  Put(std::vector<float>(64, 0));
  devices_[63].closeness.assign(64, 5);
  devices_[62].closeness.assign(64, 9);
  EXPECT_EQ(Pick({.closest = true}, 8).substr(0, 4), "6362");
}

TEST_F(DevicePolicyTest, OfOneGroupTheFirstThatHasEnoughServes) {
  Put({1, 5, 6, 2});
  devices_[1].group = devices_[2].group = 4;
  const DevicePolicy policy{.together = Together::kOneGroup};
  EXPECT_EQ(Pick(policy, 2), "03");  // those of none
  devices_[0].group = 5;
  EXPECT_EQ(Pick(policy, 2), "12");
  EXPECT_EQ(Pick(policy, 3), "none");
}

// 8 of 16 devices have 12,870 sets of 8.
TEST_F(DevicePolicyTest, ContainersOfAPodShareTheBoundOfTheSearch) {
  Put(std::vector<float>(16, 1));
  std::vector<std::vector<int64_t>> points(16, std::vector<int64_t>(16, 0));
  points[0][1] = points[1][0] = 9;  // the last of the sort order
  Connect(points);
  const auto has_them = [&](size_t searches) {
    const auto picked = PickDevices({.closest = true}, 8, roomy_, searches);
    return std::ranges::count_if(*picked, [](const auto& one) { return one.place < 2; }) == 2;
  };
  EXPECT_TRUE(has_them(1));
  EXPECT_FALSE(has_them(100));
}

TEST_F(DevicePolicyTest, PairsAreTakenWhole) {
  Put({1, 2, 3, 4, 5});
  for (size_t i = 0; i < devices_.size(); ++i) devices_[i].group = static_cast<int32_t>(i % 3);
  const DevicePolicy policy{.together = Together::kPairs};
  EXPECT_EQ(Pick(policy, 2), "03");
  EXPECT_EQ(Pick(policy, 4), "0314");
  EXPECT_EQ(Pick(policy, 5), "none");
}

TEST_F(DevicePolicyTest, SeveralAloneAreTheClosestWhereThatIsWanted) {
  Put({0, 1, 2});
  Connect({{0, 1, 1}, {1, 0, 9}, {1, 9, 0}});
  const DevicePolicy policy{.several_closest = true};
  EXPECT_EQ(Pick(policy, 1), "0");
  EXPECT_EQ(Pick(policy, 2), "12");
}

}  // namespace
}  // namespace tessera
