// SPDX-License-Identifier: Apache-2.0
#include "config/schema/problem.h"

#include <gtest/gtest.h>

#include <string>

#include "config/schema/yaml.h"

namespace tessera::config {
namespace {

Document ParsedProblem(std::string text) {
  return Document::Parse("t.yaml", std::move(text));
}

TEST(Problem, ControlCharactersDoNotReachTheTerminal) {
  const Problem problem{.origin = "t.yaml",
                        .line = 1,
                        .column = 4,
                        .message = "x is " + Quoted("\x1b[31m"),
                        .excerpt = "a: \x1b[31m"};
  EXPECT_EQ(problem.Text(),
            "t.yaml:1:4: x is '?[31m' [config-bad-value]\n"
            "a: ?[31m\n"
            "   ^");
}

TEST(Problem, ColumnsCountCharactersNotBytes) {
  Document document = ParsedProblem("{\"gr\u00fc\u00df\": 1}\n");
  document.Report(Reason::kConfigBadValue, *document.root().Find("gr\u00fc\u00df"), "no");
  EXPECT_EQ(Text(document.problems()),
            "t.yaml:1:10: no [config-bad-value]\n"
            "{\"gr\u00fc\u00df\": 1}\n"
            "         ^\n");
}

TEST(Problem, LongLinesAreShortened) {
  const Problem problem{.origin = "t.yaml",
                        .line = 1,
                        .column = 200,
                        .message = "no",
                        .excerpt = std::string(256, 'x')};
  EXPECT_EQ(problem.Text(),
            "t.yaml:1:200: no [config-bad-value]\n" + std::string(160, 'x') + "...");
}

}  // namespace
}  // namespace tessera::config
