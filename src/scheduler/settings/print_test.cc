// SPDX-License-Identifier: Apache-2.0
#include "scheduler/settings/print.h"

#include <cstdlib>

#include "os/files.h"
#include "scheduler/settings/settings_under_test.h"

namespace tessera::scheduler {
namespace {

const std::string kPage =
    "docs/reference/scheduler-settings.md";  // tests run in the root of the tree
constexpr std::string_view kBegin = "<!-- reference begins -->\n";
constexpr std::string_view kEnd = "<!-- reference ends -->\n";

TEST(SchedulerPrint, ALineSaysWhereItsValueCameFrom) {
  const std::string text = PrintYaml(
      LoadGiven({.own = "policies: {weights: {memory: 3}}\n", .words = {"--scheduler-name=a,b"}}));
  EXPECT_TRUE(
      text.starts_with("version: tessera-scheduler/v1\n"
                       "kubeconfig: \"\"                                # default\n"
                       "log:\n"
                       "  level: info                                 # default\n"))
      << text;
  EXPECT_NE(text.find("schedulerNames: [a, b]                        # flag --scheduler-name\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  weights:\n"
                      "    slot: 1                                   # default\n"
                      "    core: 1                                   # default\n"
                      "    memory: 3                                 # s.yaml:2\n"
                      "nvidia:\n"),
            std::string::npos)
      << text;
}

TEST(SchedulerPrint, WhatIsPrintedLoadsAsTheSame) {
  const Loaded loaded =
      LoadGiven({.hami = "nvidia: {resourceCountName: a.io/gpu, overwriteEnv: true}\n",
                 .words = {"--scheduler-name=a,b", "--node-label-selector=gpu=on",
                           "--node-lock-timeout=90s", "--leader-elect=false"}});
  Sources again;
  again.own = config::Document::Parse("p.yaml", PrintYaml(loaded));
  const Loaded read = Load(std::move(again));
  EXPECT_EQ(config::Text(read.errors), "");
  EXPECT_EQ(read.settings, loaded.settings);
}

// TESSERA_UPDATE_DOCS=1 writes the reference into the page instead of comparing.
TEST(SchedulerPrint, ThePageSaysWhatTheTableSays) {
  const std::string page = *os::ReadFile(kPage);
  const size_t begin = page.find(kBegin) + kBegin.size();
  const size_t end = page.find(kEnd);
  ASSERT_NE(end, std::string::npos);
  const std::string made = "\n" + MarkdownReference() + "\n";
  if (std::getenv("TESSERA_UPDATE_DOCS") != nullptr) {
    ASSERT_TRUE(
        os::WriteFileAtomically(kPage, page.substr(0, begin) + made + page.substr(end), 0644));
    return;
  }
  EXPECT_EQ(page.substr(begin, end - begin), made)
      << "run this test with TESSERA_UPDATE_DOCS=1 to write the page";
}

}  // namespace
}  // namespace tessera::scheduler
