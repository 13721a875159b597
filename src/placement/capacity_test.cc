// SPDX-License-Identifier: Apache-2.0
#include "placement/capacity.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr char kCard[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";

const std::vector<DeviceCapacity> kCards = {
    {.device = kCard, .containers = 2, .memory = 1000, .cores = 100}};

std::string Refusal(const UsageByDevice& taken, const DeviceUsage& more, bool asked = true) {
  const Status room = CheckCapacity("nvidia.com/gpu", kCards, taken, {{kCard, more}}, asked);
  return room ? "" : room.error().message;
}

constexpr char kGpus[] = "nvidia.com/gpu";
const std::string kShare = std::string(kCard) + "-0";

UsageByDevice Sum(const UsedCapacity& taken) {
  return taken.Beside("", {}, "");
}

TEST(UsedCapacity, AShareThatAPodHasTwiceCountsOnceAsTheLarger) {
  UsedCapacity taken;
  taken.AddShares("uid-1", {kShare}, {kShare}, std::vector<Fraction>{{kCard, 300, 10}});
  const std::vector<std::string> both = {kShare, std::string(kCard) + "-1"};
  taken.AddShares("uid-1", both, both, std::vector<Fraction>{{kCard, 400, 60}});
  taken.AddShares("uid-2", {kShare}, {kShare}, std::vector<Fraction>{{kCard, 100, 5}});
  EXPECT_EQ(Sum(taken), (UsageByDevice{{kCard, {3, 600, 65}}}));
  EXPECT_EQ(taken.Beside("uid-1", {kShare}, ""), (UsageByDevice{{kCard, {2, 300, 35}}}));
}

TEST(UsedCapacity, OfSomeOfTheSharesOnlyTheirPartCounts) {
  UsedCapacity taken;
  taken.AddShares("uid-1", {kShare}, {kShare, std::string(kCard) + "-1"},
                  std::vector<Fraction>{{kCard, 400, 60}});
  EXPECT_EQ(Sum(taken), (UsageByDevice{{kCard, {1, 200, 30}}}));
}

TEST(UsedCapacity, WholePodsCountBesideSharesAndOnce) {
  UsedCapacity taken;
  taken.AddShares("uid-1", {kShare}, {kShare}, std::vector<Fraction>{{kCard, 300, 10}});
  taken.AddPod("uid-2", kGpus, {{kCard, {2, 500, 20}}});
  taken.AddShares("uid-2", {kShare}, {kShare}, std::vector<Fraction>{{kCard, 300, 10}});
  EXPECT_TRUE(taken.HasPod("uid-2", kGpus));
  EXPECT_EQ(Sum(taken), (UsageByDevice{{kCard, {4, 1100, 40}}}));
  EXPECT_EQ(taken.Beside("uid-2", {}, kGpus), (UsageByDevice{{kCard, {2, 600, 20}}}));
  EXPECT_EQ(taken.Beside("uid-2", {}, "nvidia.com/other"), Sum(taken));
}

TEST(UsedCapacity, WhatNobodyKnowsIsToldOnce) {
  UsedCapacity taken;
  EXPECT_EQ(taken.WhyUnknown(kCard), nullptr);
  taken.AddUnknown(kCard, "torn");
  taken.AddUnknown(kCard, "gone");
  EXPECT_EQ(*taken.WhyUnknown(kCard), "torn");
}

TEST(CheckCapacity, GrantsWhatIsLeftAndNoMore) {
  EXPECT_EQ(Refusal({{kCard, {1, 600, 50}}}, {1, 400, 50}), "");
  EXPECT_EQ(Refusal({{kCard, {1, 600, 50}}}, {1, 401, 50}),
            std::string("nvidia.com/gpu: device ") + kCard +
                " has 1000 MiB; 600 MiB and 50 percent of its compute time are taken, and 401 "
                "MiB and 50 percent more do not fit");
  EXPECT_NE(Refusal({{kCard, {1, 600, 50}}}, {1, 400, 51}), "");
}

TEST(CheckCapacity, NoMoreContainersThanTheCardIsFor) {
  EXPECT_EQ(Refusal({{kCard, {2, 20, 2}}}, {1, 10, 1}),
            std::string("nvidia.com/gpu: device ") + kCard +
                " has 1000 MiB; 20 MiB and 2 percent of its compute time are taken by 2 "
                "of 2 containers, and 10 MiB and 1 percent more do not fit");
  EXPECT_EQ(Refusal({{kCard, {2, 20, 2}}}, {1, 10, 1}, false), "");
}

TEST(CheckCapacity, OfACardOfUnknownMemoryNothingIsGrantedThatPodsAskFor) {
  const std::vector<DeviceCapacity> cards = {
      {.device = kCard, .containers = 2, .memory = 0, .cores = 100}};
  const UsageByDevice more = {{kCard, {1, 400, 10}}};
  EXPECT_EQ(CheckCapacity(kGpus, cards, {}, more, true).error(),
            (Error{Reason::kUnreadable,
                   std::string("nvidia.com/gpu: the driver does not report the memory of device ") +
                       kCard + ", so it is unknown whether 400 MiB are left"}));
  EXPECT_TRUE(CheckCapacity(kGpus, cards, {}, more, false))
      << "by sizes that the configuration says";
}

}  // namespace
}  // namespace tessera
