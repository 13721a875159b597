// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explanation.h"

#include <gtest/gtest.h>

namespace tessera::scheduler {
namespace {

std::string TextOfPage(const std::string& page) {
  const auto text = ExplanationText(*json::Parse(page));
  return text ? *text : text.error().message;
}

TEST(ExplanationTest, SaysOfEachNodeWhatIsMissingAndWhoIsInTheWay) {
  const Explanation explanation{
      .pod = "team/train",
      .state = "no node fits",
      .leader = "pod-b_1",
      .tried_seconds_ago = 12,
      .groups = {{"devices have too little memory left", {.count = 11, .nodes = {"a", "b"}}},
                 {"the node has registered no devices", {.count = 1, .nodes = {"c"}}}},
      .blockers = {{"a", {"team/other"}}}};

  EXPECT_EQ(*ExplanationText(ExplanationJson(explanation)),
            "team/train: no node fits\n"
            "last tried 12 s ago\n"
            "the leader pod-b_1 knows the last try\n"
            "nodes that do not fit:\n"
            "  11: devices have too little memory left (a, b, ...)\n"
            "  1: the node has registered no devices (c)\n"
            "node a would fit without team/other\n");
}

TEST(ExplanationTest, NodesThatCanHaveItAreNamed) {
  EXPECT_EQ(
      *ExplanationText(ExplanationJson({.pod = "team/train",
                                        .state = "a node fits, and the pod waits for its next try",
                                        .fit = {"a", "b"}})),
      "team/train: a node fits, and the pod waits for its next try\n"
      "nodes that fit: a, b\n");
}

TEST(ExplanationTest, APageThatIsNoneIsSaid) {
  EXPECT_EQ(TextOfPage("[]"), "an explanation is not an object");
  EXPECT_EQ(TextOfPage("{}"), "pod is missing");
  EXPECT_EQ(TextOfPage(R"({"pod":"a/b","state":"x","fit":[1]})"), "fit is not a list of names");
}

}  // namespace
}  // namespace tessera::scheduler
