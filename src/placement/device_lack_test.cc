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
  EXPECT_TRUE(
      NumaMisfitOf(std::vector{kNothing, kMemory, kNothing}, std::vector{0, 0, 1}, 2).passes);
  EXPECT_FALSE(
      NumaMisfitOf(std::vector{kNothing, kSize, kNothing}, std::vector{0, 0, 1}, 2).passes);
}

}  // namespace
}  // namespace tessera
