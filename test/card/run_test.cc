// SPDX-License-Identifier: Apache-2.0
// The runner, with parts that are made here.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "card/report.h"

namespace tessera::card {
namespace {

namespace fs = std::filesystem;

class RunTest : public testing::Test {
 protected:
  RunTest() {
    char name[] = "/tmp/card-run-XXXXXX";
    home_ = mkdtemp(name);
    for (const char* directory : {"parts", "bin", "tmp"})
      fs::create_directory(home_ + "/" + directory);
    fs::copy("test/card/run", home_ + "/run");
    fs::copy("test/card/parts/common", home_ + "/parts/common");
    fs::create_symlink(TESSERA_CARD_REPORT, home_ + "/bin/report");
  }
  ~RunTest() override { fs::remove_all(home_); }

  void Part(const std::string& name, const std::string& body, int seconds = 60) const {
    const std::string path = home_ + "/parts/" + name;
    std::ofstream(path) << "#!/bin/bash\n# seconds: " << seconds
                        << "\n. \"$CARD_HOME/parts/common\"\n"
                        << body << "\n";
    chmod(path.c_str(), 0755);
  }
  // Its exit code.
  int Run(const std::string& arguments = "") {
    const std::string command = "env TMPDIR=" + home_ + "/tmp " + home_ + "/run --out " + home_ +
                                "/out " + arguments + " >" + home_ + "/said 2>&1";
    const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
    report_ = ReadJson(Text("/out/card.json"));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string Text(const std::string& path) const {
    std::stringstream text;
    text << std::ifstream(home_ + path).rdbuf();
    return text.str();
  }
  // How each part ended.
  std::map<std::string, std::string> States() const {
    std::map<std::string, std::string> states;
    for (const Row& row : report_.rows) {
      if (row.kind == "part") states[row.part] = row.value;
    }
    return states;
  }
  // What was said by this name; empty: nothing.
  std::string Said(const std::string& name) const {
    const auto row = std::ranges::find_if(
        report_.rows, [&](const Row& each) { return each.kind != "part" && each.name == name; });
    return row == report_.rows.end() ? "" : row->value;
  }
  bool LeftNothing() const { return fs::is_empty(home_ + "/tmp"); }

  using States_ = std::map<std::string, std::string>;
  std::string home_;
  Report report_;
};

TEST_F(RunTest, PartsRunInOrderAndAreRows) {
  Part("20-second", "fact after \"$(cat \"$CARD_HOME/first\")\"");
  Part("10-first", "echo done >\"$CARD_HOME/first\"; figure f ms 1 2 3; trouble t 'as \"is\"'");

  EXPECT_EQ(Run(), 0) << Text("/said");

  EXPECT_EQ(States(), (States_{{"first", "ended"}, {"second", "ended"}}));
  EXPECT_EQ(Said("after"), "done");
  EXPECT_EQ(Said("t"), "as \"is\"");
  EXPECT_EQ(report_.unread, 0);
  EXPECT_TRUE(LeftNothing());
}

TEST_F(RunTest, APartThatHangsIsEndedAndTheNextOneRuns) {
  Part("10-hung", "fact before 1; trap '' TERM; sleep 1000; sleep 1000", 3);
  Part("20-next", "fact behind 1");

  EXPECT_EQ(Run(), 0) << Text("/said");

  EXPECT_EQ(States()["hung"], "timed out after 3 s");
  EXPECT_EQ(Said("before") + Said("behind"), "11");
  EXPECT_TRUE(LeftNothing());
}

TEST_F(RunTest, APartThatIsKilledInARowCostsNoRowOfAnother) {
  Part("10-killed",
       R"(fact before 1; printf '{"part":"killed","ki' >>"$CARD_ROWS"; kill -KILL $$)");
  Part("20-crashing", "fact before_it 1; bash -c 'kill -SEGV $$'; exit 3");

  EXPECT_EQ(Run(), 0) << Text("/said");

  EXPECT_EQ(States(), (States_{{"killed", "killed by KILL"}, {"crashing", "failed: exit 3"}}));
  EXPECT_EQ(Said("before") + Said("before_it"), "11");
  EXPECT_EQ(report_.unread, 1);
}

TEST_F(RunTest, WhatAPartLeavesBehindIsEndedAndToldOf) {
  Part("10-daemon",
       "touch \"$CARD_SCRATCH/file\"; sleep 1000 & setsid sleep 1000 & "
       "until [[ $(</proc/$!/comm) == sleep ]]; do :; done");

  EXPECT_EQ(Run(), 0) << Text("/said");

  EXPECT_EQ(States(), (States_{{"daemon", "ended"}}));
  EXPECT_EQ(Said("processes that it left behind"), "sleep");
  EXPECT_TRUE(LeftNothing());
}

TEST_F(RunTest, PartsAreChosenByNameAndShareTheMinutes) {
  Part("10-a", "fact a \"$CARD_SECONDS\"");
  Part("20-b", "fact b \"$CARD_SECONDS\"");
  Part("30-c", "fact c \"$CARD_SECONDS\"");

  EXPECT_EQ(Run("--minutes 1 20-b c"), 0) << Text("/said");

  EXPECT_EQ(Said("a") + "/" + Said("b") + "/" + Said("c"), "/27/27");
  EXPECT_EQ(Run("nobody"), 2);
  EXPECT_EQ(Text("/said"), "run: there is no part nobody\n");
}

TEST_F(RunTest, ARunThatIsEndedLeavesItsReportAndNothingElse) {
  Part("10-done", "fact done 1");
  // The parent of its parent, which is timeout, is the runner.
  Part("20-long",
       "fact begun 1; read -r _ _ _ runner _ </proc/$PPID/stat; kill $runner; sleep 1000");

  EXPECT_EQ(Run(), 130) << Text("/said");

  EXPECT_EQ(Said("done") + Said("begun"), "11");
  EXPECT_TRUE(LeftNothing());
}

}  // namespace
}  // namespace tessera::card
