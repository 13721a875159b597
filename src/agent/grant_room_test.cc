// SPDX-License-Identifier: Apache-2.0
#include "agent/grant_room.h"

#include <gtest/gtest.h>

namespace tessera::agent {
namespace {

constexpr char kCard[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";

const std::vector<hami::RegisteredDevice> kCards = {
    {.id = kCard, .count = 2, .devmem = 1000, .devcore = 100}};

std::string Refusal(const UsageByDevice& taken, const hami::CardUsage& more, bool slots = true) {
  const Status room = CheckRoom("nvidia.com/gpu", kCards, taken, {{kCard, more}}, slots);
  return room ? "" : room.error().message;
}

TEST(Taken, AShareThatAPodHasTwiceCountsOnceAsTheLarger) {
  const std::string share = std::string(kCard) + "-0";
  Taken taken;
  taken.AddShares("uid-1", {share}, std::vector<VgpuPart>{{kCard, 300, 10}});
  taken.AddShares("uid-1", {share, std::string(kCard) + "-1"},
                  std::vector<VgpuPart>{{kCard, 400, 60}});
  taken.AddShares("uid-2", {share}, std::vector<VgpuPart>{{kCard, 100, 5}});
  EXPECT_EQ(taken.Sum(), (UsageByDevice{{kCard, {3, 600, 65}}}));

  taken.RemoveShare("uid-1", share);
  EXPECT_EQ(taken.Sum(), (UsageByDevice{{kCard, {2, 300, 35}}}));
}

TEST(Taken, WholePodsCountBesideShares) {
  Taken taken;
  taken.AddShares("uid-1", {std::string(kCard) + "-0"}, std::vector<VgpuPart>{{kCard, 300, 10}});
  taken.Add({{kCard, {2, 500, 20}}});
  EXPECT_EQ(taken.Sum(), (UsageByDevice{{kCard, {3, 800, 30}}}));
}

TEST(CheckRoom, GrantsWhatIsLeftAndNoMore) {
  EXPECT_EQ(Refusal({{kCard, {1, 600, 50}}}, {1, 400, 50}), "");
  EXPECT_EQ(Refusal({{kCard, {1, 600, 50}}}, {1, 401, 50}),
            std::string("nvidia.com/gpu: device ") + kCard +
                " has 1000 MiB, of which 600 MiB and 50 percent of its compute time are taken: 401 "
                "MiB and 50 percent more do not fit");
  EXPECT_NE(Refusal({{kCard, {1, 600, 50}}}, {1, 400, 51}), "");
}

TEST(CheckRoom, NoMoreContainersThanTheCardIsFor) {
  EXPECT_EQ(Refusal({{kCard, {2, 20, 2}}}, {1, 10, 1}),
            std::string("nvidia.com/gpu: device ") + kCard +
                " has 1000 MiB, of which 20 MiB and 2 percent of its compute time are taken by 2 "
                "of 2 containers: 10 MiB and 1 percent more do not fit");
  EXPECT_EQ(Refusal({{kCard, {2, 20, 2}}}, {1, 10, 1}, false), "");
}

}  // namespace
}  // namespace tessera::agent
