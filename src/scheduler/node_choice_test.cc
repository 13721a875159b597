// SPDX-License-Identifier: Apache-2.0
#include "scheduler/node_choice.h"

#include <gtest/gtest.h>

#include "hami/policies.h"

namespace tessera::scheduler {
namespace {

const std::vector<std::pair<std::string, float>> kNodes{
    {"half", 15}, {"empty", 0}, {"twin", 15}, {"full", 30}, {"third", 10}};

NodeChoice ChoiceOf(NodePolicy policy, size_t most) {
  NodeChoice choice(policy, most);
  for (const auto& [name, fullness] : kNodes) {
    if (choice.Wants(name, fullness)) choice.Add(name, fullness);
  }
  return choice;
}

TEST(NodeChoiceTest, TheBestComeFirstAndEqualsByTheirNames) {
  EXPECT_EQ(ChoiceOf(NodePolicy::kBinpack, 1).Names(), std::vector<std::string>{"full"});
  EXPECT_EQ(ChoiceOf(NodePolicy::kBinpack, 3).Names(),
            (std::vector<std::string>{"full", "half", "twin"}));
  EXPECT_EQ(ChoiceOf(NodePolicy::kSpread, 4).Names(),
            (std::vector<std::string>{"empty", "third", "half", "twin"}));
}

TEST(NodeChoiceTest, ANodeThatWouldBeNoneOfThemIsNotWanted) {
  const NodeChoice choice = ChoiceOf(NodePolicy::kBinpack, 2);
  EXPECT_TRUE(choice.Wants("a", 15));  // before "half"
  EXPECT_FALSE(choice.Wants("x", 15));
}

TEST(NodeChoiceTest, OnlyABetterOneThanAllIsTheBest) {
  NodeChoice choice(NodePolicy::kSpread, 2);
  EXPECT_TRUE(choice.Add(kNodes[0].first, 15));
  EXPECT_FALSE(choice.Add(kNodes[2].first, 15));
  EXPECT_TRUE(choice.Add(kNodes[1].first, 0));
}

TEST(NodeChoiceTest, ScoresGoFromZeroToTen) {
  EXPECT_EQ(ChoiceOf(NodePolicy::kBinpack, 9).Scores(),
            (NodeScores{{"empty", 0}, {"full", 10}, {"half", 5}, {"third", 3}, {"twin", 5}}));
  EXPECT_EQ(ChoiceOf(NodePolicy::kSpread, 9).Scores(),
            (NodeScores{{"empty", 10}, {"full", 0}, {"half", 5}, {"third", 7}, {"twin", 5}}));
}

TEST(NodeChoiceTest, APodSaysHowManyThereAreToChooseFrom) {
  const auto choices = [](const char* asked, bool prefers) {
    kube::Pod pod{.prefers_nodes = prefers};
    if (asked != nullptr) pod.annotations[std::string(hami::kNodeChoices)] = asked;
    return ChoicesOf(pod);
  };
  EXPECT_EQ(choices(nullptr, false), 1U);
  EXPECT_EQ(choices(nullptr, true), 16U);
  EXPECT_EQ(choices(" 5 ", false), 5U);
  EXPECT_EQ(choices("1", true), 1U);
  EXPECT_EQ(choices("100", true), 100U);
  for (const char* none : {"0", "101", "-1", "many", "2.5", "99999999999999999999"}) {
    EXPECT_EQ(choices(none, false), 1U) << none;
    EXPECT_EQ(choices(none, true), 16U) << none;
  }
}

}  // namespace
}  // namespace tessera::scheduler
