// SPDX-License-Identifier: Apache-2.0
#include "os/command.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace tessera::os {
namespace {

Result<Answer> Shell(const std::string& script, const std::string& input = "") {
  return RunCommand({.argv = {"sh", "-c", script}, .input = input});
}

TEST(CommandTest, WhatItSaysOnBothStreamsArrivesWithItsExitCode) {
  EXPECT_EQ(*Shell("echo out; echo err >&2; exit 3"), (Answer{3, "out\nerr\n"}));
}

TEST(CommandTest, ItReadsItsInputToTheEnd) {
  EXPECT_EQ(*Shell("cat", "one\ntwo\n"), (Answer{0, "one\ntwo\n"}));
}

TEST(CommandTest, ItHasTheVariablesGivenAndNotThoseTakenAway) {
  setenv("COMMAND_TEST_MINE", "mine", 1);
  setenv("COMMAND_TEST_GONE", "gone", 1);
  EXPECT_EQ(*RunCommand({.argv = {"sh", "-c",
                                  "echo $COMMAND_TEST_MINE $COMMAND_TEST_NEW "
                                  "${COMMAND_TEST_GONE-none}"},
                         .environment = {{"COMMAND_TEST_NEW", "new"}, {"COMMAND_TEST_GONE", ""}}}),
            (Answer{0, "mine new none\n"}));
}

TEST(CommandTest, OneThatTakesTooLongIsKilled) {
  const auto answer = RunCommand({.argv = {"sleep", "100"}, .limit = Duration(20)});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(), (Error{Reason::kTimedOut, "sleep did not end within 20 ms"}));
}

TEST(CommandTest, OneThatIsNotThereIsNotFound) {
  const auto answer = RunCommand({.argv = {"no-such-program"}});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error(),
            (Error{Reason::kNotFound, "cannot start no-such-program: No such file or directory"}));
}

TEST(CommandTest, AProgramIsFoundInPath) {
  EXPECT_TRUE(FindProgram("sh").ends_with("/sh"));
  EXPECT_EQ(FindProgram("no-such-program"), "");
}

TEST(CommandTest, OneThatASignalEndsSaysWhich) {
  EXPECT_EQ(*Shell("kill -TERM $$"), (Answer{128 + SIGTERM, ""}));
}

TEST(CommandTest, WhatItLeavesRunningIsNotWaitedFor) {
  const auto answer = Shell("sleep 100 & echo $!");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->exit_code, 0);
  EXPECT_EQ(kill(std::atoi(answer->output.c_str()), SIGKILL), 0) << answer->output;
}

TEST(CommandTest, OutputWithoutEndIsCut) {
  const auto answer = Shell("head -c 200000 /dev/zero");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->output.size(), 64U * 1024U);
}

}  // namespace
}  // namespace tessera::os
