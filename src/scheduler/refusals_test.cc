// SPDX-License-Identifier: Apache-2.0
#include "scheduler/refusals.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera::scheduler {
namespace {

using Names = std::vector<std::string>;

constexpr Duration kPause{1'000};

class RefusalsTest : public ::testing::Test {
 protected:
  bool Refuse(const std::string& pod, const Names& nodes = {"b", "a"},
              const std::string& why = "no memory") {
    clock_.Advance(Duration(1));
    return refusals_.Put(std::make_shared<const kube::Pod>(kube::Pod{.uid = pod, .name = pod}), {},
                         nodes, {{why, {.count = nodes.size(), .nodes = nodes}}}, clock_.Now());
  }
  Names Woken() {
    clock_.Advance(kPause);
    Names names;
    const auto fits = [this](const Refusal& refusal, const std::string& node) {
      return fits_.contains(refusal.pod->name + " " + node);
    };
    for (const auto& pod : refusals_.ToWake(clock_.Now(), fits)) {
      names.push_back(pod->name);
    }
    return names;
  }

  FakeClock clock_;
  Refusals refusals_;
  std::set<std::string> fits_;
};

TEST_F(RefusalsTest, APodIsWokenThatFitsOnANodeThatChangedAfterItWasRefused) {
  Refuse("one");
  Refuse("two");
  refusals_.Changed("a");
  fits_ = {"two a"};

  EXPECT_EQ(Woken(), Names{});
  EXPECT_EQ(Woken(), Names{"two"});
}

TEST_F(RefusalsTest, WhoWasFilteredSinceIsLeftAlone) {
  Refuse("one");
  refusals_.Changed("a");
  Refuse("one");
  fits_ = {"one a"};

  EXPECT_EQ(Woken(), Names{});
  EXPECT_EQ(Woken(), Names{});
  EXPECT_FALSE(refusals_.pending());
}

TEST_F(RefusalsTest, KubeSchedulerHasTheTimeToComeByItself) {
  Refuse("one");
  refusals_.Changed("a");
  fits_ = {"one a"};

  EXPECT_EQ(Woken(), Names{});
  EXPECT_EQ(Woken(), Names{"one"});
}

TEST_F(RefusalsTest, ANodeThatWasNotToChooseFromWakesNobody) {
  Refuse("one", {"b"});
  refusals_.Changed("a");
  fits_ = {"one a"};

  EXPECT_EQ(Woken(), Names{});
  EXPECT_EQ(Woken(), Names{});
}

TEST_F(RefusalsTest, WhoIsWokenInVainRestsLongerEachTime) {
  Refuse("one");
  refusals_.Changed("a");
  fits_ = {"one a"};
  EXPECT_EQ(Woken(), Names{});
  EXPECT_EQ(Woken(), Names{"one"});
  EXPECT_EQ(Woken(), Names{});
  EXPECT_EQ(Woken(), Names{"one"});  // after 2 s
  EXPECT_EQ(Woken(), Names{});
  EXPECT_EQ(Woken(), Names{});
  EXPECT_EQ(Woken(), Names{});
  EXPECT_EQ(Woken(), Names{"one"});  // after 4 s
  refusals_.Erase("one");
  EXPECT_EQ(Woken(), Names{});
  EXPECT_FALSE(refusals_.pending());
}

TEST_F(RefusalsTest, TheLongestRefusedIsWokenFirst) {
  Refuse("b");
  Refuse("a");
  refusals_.Changed("a");
  fits_ = {"a a", "b a"};

  EXPECT_EQ(Woken(), Names{});
  EXPECT_EQ(Woken(), (Names{"b", "a"}));
}

TEST_F(RefusalsTest, AReasonIsNewsOnce) {
  EXPECT_TRUE(Refuse("one"));
  EXPECT_FALSE(Refuse("one"));
  EXPECT_TRUE(Refuse("one", {"a"}));
  EXPECT_TRUE(Refuse("one", {"a"}, "no devices"));
  EXPECT_EQ(TextOf(refusals_.Find("one")->groups), "none of 1 nodes fits: no devices (1)");
}

TEST_F(RefusalsTest, TextsNameEachReasonWithItsNodes) {
  EXPECT_EQ(TextOf({{"no devices", {.count = 4}}, {"no memory", {.count = 8}}}),
            "none of 12 nodes fits: no devices (4), no memory (8)");
}

}  // namespace
}  // namespace tessera::scheduler
