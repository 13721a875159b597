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

TEST(Findings, DuplicatesThatAreToleratedLeaveNoError) {
  std::string text;
  for (size_t i = 0; i < Findings::kMaxErrors + 7; ++i) text += "version: v1\n";
  const Document document = Document::Parse("t.yaml", text);
  Findings findings(document);
  findings.TolerateDuplicates();
  EXPECT_EQ(Text(findings.SortedErrors()), "");
  ASSERT_EQ(findings.warnings().size(), Findings::kMaxErrors + 1);
  EXPECT_EQ(findings.warnings().back().message, "6 repeated keys more");
  EXPECT_EQ(findings.warnings().front().message,
            "key 'version' is repeated; the first is on line 1; the last one counts");
}

TEST(Findings, DuplicatesBeyondTheLimitAreCounted) {
  std::string text;
  for (size_t i = 0; i < Findings::kMaxErrors + 8; ++i) text += "version: v1\n";
  const Document document = Document::Parse("t.yaml", text);
  const std::vector<Problem> errors = Findings(document).SortedErrors();
  EXPECT_EQ(errors.size(), Findings::kMaxErrors + 1);
  EXPECT_EQ(errors.back().message, "7 errors more");
}

TEST(Findings, ErrorsBesideToleratedDuplicatesStay) {
  const Document document = Document::Parse("t.yaml", "version: v1\nversion: v1\na: *nobody\n");
  Findings findings(document);
  findings.Add({.message = "another"});
  findings.TolerateDuplicates();
  std::vector<std::string> messages;
  for (const Problem& problem : findings.SortedErrors()) messages.push_back(problem.message);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_TRUE(messages[0].starts_with("not valid YAML: nothing before it is named 'nobody'"));
  EXPECT_EQ(messages[1], "another");
}

}  // namespace
}  // namespace tessera::config
