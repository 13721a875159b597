// SPDX-License-Identifier: Apache-2.0
#include "sim/demo/worth.h"

#include <gtest/gtest.h>

#include "sim/demo/observations_for_test.h"

namespace tessera::demo {
namespace {

using Parts = std::vector<Fraction>;

class WorthTest : public ::testing::Test {
 protected:
  WorthTest() {
    worth_.Learn(Saw(TwoGpus()));
    worth_.Learn(Saw(DividedByTen()));
  }
  void Told(const std::string& pod, std::vector<std::string> ids) {
    worth_.Learn(Saw(LimitsRead{{LimitsOf(pod, std::move(ids), {{"any", "thing"}})}}));
  }
  Worth worth_;
};

TEST_F(WorthTest, SharesOfOneGpuAddUpAndGpusAreInTheOrderOfTheirIndices) {
  EXPECT_EQ(worth_.Of(kGpu, {SecondGpu(0), FirstGpu(3), FirstGpu(7)}),
            (Parts{{FirstGpu(), 16312, 20}, {SecondGpu(), 4096, 10}}));
}

TEST_F(WorthTest, ConfiguredSizesAreThoseOfTheSharesNumbers) {
  Configured configured = DividedByTen();
  configured.vgpus[kGpu].division.parts = 2;
  configured.vgpus[kGpu].division.sizes = {{1000, 70}, {2000, 60}};
  worth_.Learn(Saw(configured));
  EXPECT_EQ(worth_.Of(kGpu, {FirstGpu(1)}), (Parts{{FirstGpu(), 2000, 60}}));
  EXPECT_EQ(worth_.Of(kGpu, {FirstGpu(0), FirstGpu(1)}), (Parts{{FirstGpu(), 3000, 100}}));
}

TEST_F(WorthTest, OtherResourcesAreWorthNothing) {
  EXPECT_EQ(worth_.Of(kNpu, {"0"}), Parts());
  EXPECT_FALSE(worth_.IsDivided(kNpu));
}

TEST_F(WorthTest, WhatAContainerWasGivenHoldsUntilItsPodEnds) {
  const ContainerLimits limits = LimitsOf("a", {FirstGpu(0)}, {});
  Told("a", limits.ids);
  Configured halved = DividedByTen();
  halved.vgpus[kGpu].division.parts = 2;
  worth_.Learn(Saw(halved));
  Told("a", limits.ids);
  EXPECT_EQ(worth_.Given(limits), (Parts{{FirstGpu(), 8156, 10}}));

  worth_.Learn(Saw(PodEnded{"a"}));
  EXPECT_EQ(worth_.Given(limits), (Parts{{FirstGpu(), 40780, 50}}));
}

TEST_F(WorthTest, WhatIsTakenOfAGpuIsToldByPod) {
  Told("a", {FirstGpu(0), FirstGpu(1)});
  Told("b", {FirstGpu(2), SecondGpu(0)});
  EXPECT_EQ(worth_.TakenOf(FirstGpu()), (std::vector<PodUse>{{"a", 16312, 20}, {"b", 8156, 10}}));
  EXPECT_EQ(worth_.TakenOf(SecondGpu()), (std::vector<PodUse>{{"b", 4096, 10}}));
  EXPECT_EQ(worth_.MemoryOf(FirstGpu()), 81560);
}

TEST_F(WorthTest, AContainerThatIsToldNothingHasNothing) {
  worth_.Learn(Saw(LimitsRead{{LimitsOf("a", {FirstGpu(0)}, {})}}));
  EXPECT_EQ(worth_.TakenOf(FirstGpu()), std::vector<PodUse>());
}

}  // namespace
}  // namespace tessera::demo
