// SPDX-License-Identifier: Apache-2.0
#include "hami/link_scores.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera::hami {
namespace {

constexpr char kThree[] = R"([{"uuid":"GPU-a","score":{"GPU-b":1220,"GPU-c":20}},)"
                          R"({"uuid":"GPU-b","score":{"GPU-a":1220,"GPU-c":20}},)"
                          R"({"uuid":"GPU-c","score":{"GPU-a":20,"GPU-b":20}}])";

std::string ScoresError(std::string_view text) {
  const auto scores = DecodeScores(text);
  return scores ? "" : scores.error().message;
}

int ScoreOf(const Link& link) {
  return PairScore(link, link);
}

TEST(PairScore, IsHigherTheCloserTheCommonAncestorIs) {
  EXPECT_EQ(ScoreOf({}), 0);
  EXPECT_EQ(ScoreOf({.ancestor = CommonAncestor::kSystem}), 10);
  EXPECT_EQ(ScoreOf({.ancestor = CommonAncestor::kNode}), 20);
  EXPECT_EQ(ScoreOf({.ancestor = CommonAncestor::kHostBridge}), 30);
  EXPECT_EQ(ScoreOf({.ancestor = CommonAncestor::kMultiple}), 40);
  EXPECT_EQ(ScoreOf({.ancestor = CommonAncestor::kSingle}), 50);
  EXPECT_EQ(ScoreOf({.ancestor = CommonAncestor::kInternal}), 60);
}

TEST(PairScore, ANvlinkIsAHundred) {
  for (int links = 1; links <= 18; ++links) EXPECT_EQ(ScoreOf({.nvlinks = links}), 100 * links);
  EXPECT_EQ(ScoreOf({.ancestor = CommonAncestor::kNode, .nvlinks = 12}), 1220);
  EXPECT_EQ(ScoreOf({.nvlinks = 19}), 1800);
}

TEST(PairScore, ThroughASwitchTheLesserNumberCounts) {
  EXPECT_EQ(PairScore({.switch_links = 12, .switch_links_of = 10},
                      {.switch_links = 10, .switch_links_of = 12}),
            1000);
  EXPECT_EQ(ScoreOf({.switch_links = 12}), 0);
  EXPECT_EQ(ScoreOf({.nvlinks = 2, .switch_links = 12, .switch_links_of = 12}), 200);
}

TEST(PairScore, OfALinkThatIsKnownByItsPointsIsThesePoints) {
  for (const int points : {0, 10, 20, 30, 40, 50, 60, 110, 1220, 1860}) {
    EXPECT_EQ(ScoreOf(LinkOfPoints(points)), points);
  }
  EXPECT_TRUE(IsAsymmetric(LinkOfPoints(20), LinkOfPoints(120)));
  EXPECT_FALSE(IsAsymmetric(LinkOfPoints(120), LinkOfPoints(240)));
}

TEST(PairScore, IsZeroWhereOneWayHasOtherLinksThanTheWayBack) {
  const Link pcie = {.ancestor = CommonAncestor::kNode};
  const Link both = {.ancestor = CommonAncestor::kNode, .nvlinks = 1};
  EXPECT_EQ(PairScore(pcie, both), 0);
  EXPECT_EQ(PairScore(both, pcie), 0);
  EXPECT_TRUE(IsAsymmetric(pcie, both));
  EXPECT_FALSE(IsAsymmetric(both, both));
  // Equal numbers of kinds: HAMi uses the first direction.
  EXPECT_EQ(PairScore({.nvlinks = 4}, pcie), 400);
}

TEST(Scores, AreWrittenAndReadAsHamiDoes) {
  const std::vector<DeviceScores> three = {{"GPU-a", {{"GPU-b", 1220}, {"GPU-c", 20}}},
                                           {"GPU-b", {{"GPU-a", 1220}, {"GPU-c", 20}}},
                                           {"GPU-c", {{"GPU-a", 20}, {"GPU-b", 20}}}};
  EXPECT_EQ(EncodeScores(three), kThree);
  EXPECT_EQ(DecodeScores(kThree), three);
  EXPECT_EQ(EncodeScores({}), "[]");
  EXPECT_EQ(EncodeScores(std::vector<DeviceScores>{{"GPU-a"}}), R"([{"uuid":"GPU-a","score":{}}])");
}

TEST(Scores, OtherTextIsRefused) {
  EXPECT_EQ(ScoresError("{}"), "hami.io/node-nvidia-score: devices are not a list");
  EXPECT_EQ(ScoresError("[[]]"), "hami.io/node-nvidia-score: device 0: not an object");
  EXPECT_EQ(ScoresError(R"([{"uuid":1}])"),
            "hami.io/node-nvidia-score: device 0: uuid is not a string");
  EXPECT_EQ(ScoresError(R"([{"score":[]}])"),
            "hami.io/node-nvidia-score: device 0: score: not an object");
  EXPECT_EQ(ScoresError(R"([{"score":{"GPU-b":"x"}}])"),
            "hami.io/node-nvidia-score: device 0: GPU-b is not a whole number");
}

TEST(Scores, WhateverIsWrittenIsReadBack) {
  std::mt19937_64 random(10);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<DeviceScores> devices(random() % 9);
    for (DeviceScores& device : devices) {
      device.uuid = "GPU-" + std::to_string(random());
      for (auto left = random() % 9; left > 0; --left) {
        device.scores["GPU-" + std::to_string(random())] = static_cast<int64_t>(random());
      }
    }
    ASSERT_EQ(DecodeScores(EncodeScores(devices)), devices);
  }
}

}  // namespace
}  // namespace tessera::hami
