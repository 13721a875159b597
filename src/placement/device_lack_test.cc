// SPDX-License-Identifier: Apache-2.0
#include "placement/device_lack.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(DeviceLackTest, WhatIsSaidStandsInTheWayWhateverNearerDevicesGet) {
  using enum Lack;
  EXPECT_EQ(MisfitOf({kHealth, kMemory}, 1).why, "devices have too little memory left");
  EXPECT_EQ(MisfitOf({kHealth, kMemory}, 2).why, "too few devices are healthy");
  EXPECT_EQ(MisfitOf({kNothing, kCores, kMemory, kCordon}, 3).why,
            "devices have too little memory left");
  EXPECT_EQ(MisfitOf({kNothing, kNothing}, 3).why,
            "the node has fewer devices than a container asks for");
}

TEST(DeviceLackTest, PodsThatEndMakeRoomAtANumaNodeThatHasEnoughDevices) {
  using enum Lack;
  EXPECT_TRUE(ApartMisfitOf(std::vector{kNothing, kMemory, kNothing}, std::vector{0, 0, 1}, 2,
                            Together::kOneNuma)
                  .passes);
  EXPECT_FALSE(ApartMisfitOf(std::vector{kNothing, kSize, kNothing}, std::vector{0, 0, 1}, 2,
                             Together::kOneNuma)
                   .passes);
}

TEST(DeviceLackTest, PodsThatEndMakeRoomInAGroupOrInPairsThatAreThere) {
  using enum Lack;
  const std::vector lacks{kNothing, kMemory, kNothing, kMemory, kHealth};
  EXPECT_TRUE(ApartMisfitOf(lacks, std::vector{0, 0, 1, 1, 2}, 2, Together::kOneGroup).passes);
  EXPECT_FALSE(ApartMisfitOf(lacks, std::vector{0, 0, 1, 1, 2}, 4, Together::kOneGroup).passes);
  EXPECT_TRUE(ApartMisfitOf(lacks, std::vector{0, 0, 1, 1, 2}, 4, Together::kPairs).passes);
  EXPECT_FALSE(ApartMisfitOf(lacks, std::vector{0, 1, 2, 3, 3}, 2, Together::kPairs).passes);
}

}  // namespace
}  // namespace tessera
