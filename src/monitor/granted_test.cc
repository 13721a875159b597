// SPDX-License-Identifier: Apache-2.0
#include "monitor/granted.h"

#include <gtest/gtest.h>

namespace tessera::monitor {
namespace {

Granted Read(std::string_view text) {
  return ReadGranted(json::Parse(text).value()).value();
}

TEST(GrantedTest, AContainerHasItsNamesItsPartsAndTheFileOfItsRegion) {
  const Granted granted = Read(
      R"({"node":"worker-1","released":true,"directories":["/usr/local/vgpu"],"containers":[
          {"namespace":"team","pod":"train-0","uid":"uid-1","container":"main",
           "resource":"nvidia.com/gpu","division":"vgpu","grant":"0123","directory":"/vgpu/0123",
           "devices":[{"device":"GPU-1","memoryBytes":4294967296,"cores":30}]}]})");
  EXPECT_EQ(granted.node, "worker-1");
  EXPECT_TRUE(granted.released);
  EXPECT_EQ(granted.directories, std::set<std::string>{"/usr/local/vgpu"});
  ASSERT_EQ(granted.containers.size(), 1U);
  const Container& container = granted.containers.front();
  EXPECT_EQ(container.pod_name, "team/train-0");
  EXPECT_EQ(container.pod, "uid-1");
  EXPECT_EQ(container.container, "main");
  EXPECT_EQ(container.resource, "nvidia.com/gpu");
  EXPECT_EQ(container.division, "vgpu");
  EXPECT_EQ(container.file, "/vgpu/0123/" + RegionNameOf("0123"));
  EXPECT_EQ(container.parts, (std::vector<Fraction>{{"GPU-1", 4096, 30}}));
}

TEST(GrantedTest, AHolderOfAWholeDeviceHasNoRegion) {
  const Granted granted = Read(
      R"({"containers":[{"container":"main","division":"whole","devices":[{"device":"GPU-1"}]}]})");
  EXPECT_EQ(granted.containers.front().file, "");
  EXPECT_TRUE(granted.containers.front().IsWhole());
  EXPECT_EQ(granted.containers.front().parts, (std::vector<Fraction>{{"GPU-1", 0, 0}}));
}

TEST(GrantedTest, WhatIsNoContainerIsLeftOut) {
  EXPECT_TRUE(Read(R"({"containers":[1,{"pod":"x"},null],"directories":[7]})").containers.empty());
}

TEST(GrantedTest, APageWithoutContainersIsRefused) {
  for (const char* text : {"[]", "{}", R"({"containers":7})"}) {
    const auto granted = ReadGranted(json::Parse(text).value());
    ASSERT_FALSE(granted.has_value()) << text;
    EXPECT_EQ(granted.error(), (Error{Reason::kInvalid, "the agent's page has no containers"}));
  }
}

}  // namespace
}  // namespace tessera::monitor
