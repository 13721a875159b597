// SPDX-License-Identifier: Apache-2.0
#include "limiter/log/log.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "limiter/log/said_test.h"

namespace tessera::limiter {
namespace {

TEST(LogTest, NothingIsSaidUnlessItIsAskedFor) {
  EXPECT_EQ(Said([] { Say(0, Level::kError, "lost"); }), "");
  EXPECT_EQ(Said([] { Say(1, Level::kWarning, "odd"); }), "");
  EXPECT_EQ(Said([] { Say(1, Level::kError, "%s %d", "lost", 7); }), "lost 7\n");
}

TEST(LogTest, ALineSaysWhoSpeaks) {
  testing::internal::CaptureStderr();
  Say(2, Level::kWarning, "odd");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), kPrefix + "odd\n");
}

TEST(LogTest, ALineIsOfPlainCharactersAndHasAnEnd) {
  EXPECT_EQ(Said([] { Say(1, Level::kError, "a\n\033[2Jb\x80"); }), "a??[2Jb?\n");
  const std::string text =
      Said([] { Say(1, Level::kError, "%s", std::string(2000, 'x').c_str()); });
  EXPECT_EQ(text, std::string(511 - kPrefix.size(), 'x') + "\n");
}

TEST(LogTest, ErrnoStays) {
  errno = ENOTTY;
  Said([] {
    errno = ENOTTY;
    Say(1, Level::kError, "lost");
    EXPECT_EQ(errno, ENOTTY);
  });
}

TEST(LogTest, APipeThatNobodyReadsEndsNoProgram) {
  const pid_t child = fork();
  if (child == 0) {
    int ends[2];
    if (pipe(ends) != 0) _exit(2);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    Say(1, Level::kError, "lost");
    sigset_t pending;
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE)) _exit(3);
    // It is as it was, for whoever else writes there.
    (void)!write(STDERR_FILENO, "x", 1);
    _exit(4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGPIPE);
}

}  // namespace
}  // namespace tessera::limiter
