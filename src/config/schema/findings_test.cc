// SPDX-License-Identifier: Apache-2.0
#include "config/schema/findings.h"

#include <gtest/gtest.h>

namespace tessera::config {
namespace {

class FindingsTest : public testing::Test {
 protected:
  const Document document_ = Document::Parse("t.yaml", "log:\n  level: x\n");
  const Node& log_ = *document_.root().Find("log");
  const Node& level_ = *log_.Find("level");
  Findings findings_{document_};
};

TEST_F(FindingsTest, KnowsWhereASettingCameFrom) {
  EXPECT_EQ(findings_.SourceOf("log.level"), "default");
  findings_.SetInFile("log.level", level_);
  EXPECT_EQ(findings_.SourceOf("log.level"), "t.yaml:2");
  findings_.SetOutside("log.level", "flag --log-level", "debug", true);
  EXPECT_EQ(findings_.SourceOf("log.level"), "flag --log-level");
}

TEST_F(FindingsTest, AValueThatCouldNotBeUsedIsBadUntilAnotherTakesItsPlace) {
  findings_.SetInFile("log.level", level_, false);
  EXPECT_TRUE(findings_.IsSet("log.level"));
  EXPECT_TRUE(findings_.IsBad("log.level"));
  findings_.SetOutside("log.level", "flag --log-level", "debug", true);
  EXPECT_FALSE(findings_.IsBad("log.level"));
}

TEST_F(FindingsTest, AProblemStandsWhereTheSettingOrItsSectionDoes) {
  findings_.SetInFile("log", log_);
  findings_.Report(Reason::kConfigBadValue, "log.format", "is odd");
  findings_.SetInFile("log.level", level_);
  findings_.Report(Reason::kConfigBadValue, "log.level", "is odd");
  findings_.Report(Reason::kConfigBadValue, "http.address", "is odd");
  EXPECT_EQ(Text(findings_.SortedErrors()),
            "t.yaml:2:3: log.format is odd [config-bad-value]\n"
            "  level: x\n"
            "  ^\n"
            "t.yaml:2:10: log.level is odd [config-bad-value]\n"
            "  level: x\n"
            "         ^\n"
            "t.yaml: http.address is odd [config-bad-value]\n");
}

TEST_F(FindingsTest, ErrorsComeInTheOrderOfTheFile) {
  findings_.SetInFile("log.level", level_);
  findings_.Report(Reason::kConfigBadValue, "http.address", "third");
  findings_.Report(Reason::kConfigBadValue, "log.level", "second");
  findings_.Add({.origin = "t.yaml", .line = 1, .column = 1, .message = "first"});
  std::vector<std::string> messages;
  for (const Problem& problem : findings_.SortedErrors()) messages.push_back(problem.message);
  EXPECT_EQ(messages,
            (std::vector<std::string>{"first", "log.level second", "http.address third"}));
}

TEST_F(FindingsTest, WarningsAreNoErrors) {
  findings_.Warn(Reason::kConfigBadValue, "log.level", "is odd");
  EXPECT_TRUE(findings_.SortedErrors().empty());
  EXPECT_EQ(findings_.warnings().size(), 1u);
}

TEST_F(FindingsTest, WhatIsBeyondTheLimitIsCounted) {
  for (size_t i = 0; i < Findings::kMaxErrors + 7; ++i) findings_.Add({.message = "x"});
  EXPECT_TRUE(findings_.IsFull());
  EXPECT_EQ(findings_.SortedErrors().size(), Findings::kMaxErrors + 1);
  EXPECT_EQ(findings_.SortedErrors().back().message, "7 errors more");
}

}  // namespace
}  // namespace tessera::config
