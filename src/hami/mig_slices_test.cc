// SPDX-License-Identifier: Apache-2.0
#include "hami/mig_slices.h"

#include <gtest/gtest.h>

#include "placement/device_choice.h"

namespace tessera::hami {
namespace {

// The profiles of a registered A100 with 40 GB.
std::vector<MigProfile> A100() {
  return {
      {"1g.5gb", 4864, 15, 1, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}},
      {"2g.10gb", 9856, 29, 2, {{0, 2}, {2, 2}, {4, 2}}},
      {"3g.20gb", 19968, 43, 3, {{0, 4}, {4, 4}}},
      {"7g.40gb", 40192, 100, 7, {{0, 8}}},
  };
}

TEST(MigSlicesTest, InstancesArePackedAsHamiPacksThem) {
  const auto profiles = SliceProfilesOf(A100());
  uint64_t taken = 0;
  std::vector<SliceRange> ranges;
  for (const int memory : {19'000, 9'000, 4'000, 4'000}) {
    const auto slice = SmallestSlice(profiles, taken, memory);
    ASSERT_TRUE(slice);
    ranges.push_back(slice->range);
    taken |= BitsOf(slice->range);
  }
  EXPECT_EQ(ranges, (std::vector<SliceRange>{{4, 4}, {0, 2}, {3, 1}, {2, 1}}));
  EXPECT_FALSE(SmallestSlice(profiles, taken, 1));
}

TEST(MigSlicesTest, APlacementsSlicesAreAllocationsByTheirPlaces) {
  PodPlacement placement;
  placement.push_back({.name = "plain", .parts = {{"GPU-0", 1000, 10}}});
  placement.push_back({.name = "main",
                       .parts = {{"GPU-0", 1000, 10}, {"GPU-1", 4864, 15}},
                       .slices = {{1, "1g.5gb", {6, 1}}}});
  EXPECT_EQ(EncodeMigAllocations(MigAllocationsOf(placement)),
            R"([{"containerIndex":1,"deviceIndex":1,"gpuUUID":"GPU-1","profile":"1g.5gb",)"
            R"("placement":{"start":6,"size":1}}])");
}

TEST(MigSlicesTest, WhatAPodsAnnotationReservesIsTaken) {
  UsageByDevice usage{{"GPU-1", {1, 4864, 15}}};
  const char* text = R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-1",)"
                     R"("profile":"2g.10gb","placement":{"start":2,"size":2}}])";
  ASSERT_TRUE(AddSlices(text, usage));
  EXPECT_EQ(usage, (UsageByDevice{{"GPU-1", {1, 4864, 15, 0b1100}}}));
  ASSERT_TRUE(AddSlices("", usage));
  EXPECT_FALSE(AddSlices("[{}]", usage));
}

}  // namespace
}  // namespace tessera::hami
