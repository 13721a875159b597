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
  EXPECT_EQ(Said([] { LogLine(0, Level::kError, "lost"); }), "");
  EXPECT_EQ(Said([] { LogLine(1, Level::kWarning, "odd"); }), "");
  EXPECT_EQ(Said([] { LogLine(1, Level::kError, "%s %d", "lost", 7); }), "lost 7\n");
}

TEST(LogTest, ALineSaysWhoSpeaks) {
  testing::internal::CaptureStderr();
  LogLine(2, Level::kWarning, "odd");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), Prefix() + "odd\n");
}

TEST(LogTest, ALineIsOfPlainCharactersAndHasAnEnd) {
  EXPECT_EQ(Said([] { LogLine(1, Level::kError, "a\n\033[2Jb\x80"); }), "a??[2Jb?\n");
  const std::string text =
      Said([] { LogLine(1, Level::kError, "%s", std::string(2000, 'x').c_str()); });
  EXPECT_EQ(text, std::string(511 - Prefix().size(), 'x') + "\n");
}

// The exit status of a process that does this.
int EndOf(void (*run)()) {
  const pid_t child = fork();
  if (child == 0) {
    run();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(LogTest, ErrnoStaysEvenWithoutStandardError) {
  EXPECT_EQ(EndOf([] {
              close(STDERR_FILENO);
              errno = ENOTTY;
              LogLine(1, Level::kError, "lost");
              _exit(errno == ENOTTY ? 0 : 1);
            }),
            0);
}

void CloseTheOtherEnd() {
  int ends[2];
  if (pipe(ends) != 0) _exit(1);
  close(ends[0]);
  dup2(ends[1], STDERR_FILENO);
}

TEST(LogTest, APipeThatNobodyReadsEndsNoProgram) {
  EXPECT_EQ(EndOf([] {
              CloseTheOtherEnd();
              LogLine(1, Level::kError, "lost");
            }),
            0);
}

TEST(LogTest, AProgramThatWritesThereItselfIsEndedAsEver) {
  EXPECT_EQ(EndOf([] {
              CloseTheOtherEnd();
              LogLine(1, Level::kError, "lost");
              (void)!write(STDERR_FILENO, "x", 1);
            }),
            SIGPIPE);
}

TEST(LogTest, ASignalThatWaitsAlreadyIsTheProgramsOwn) {
  EXPECT_EQ(EndOf([] {
              sigset_t pipe_alone;
              sigset_t pending;
              sigemptyset(&pipe_alone);
              sigaddset(&pipe_alone, SIGPIPE);
              sigprocmask(SIG_BLOCK, &pipe_alone, nullptr);
              raise(SIGPIPE);
              CloseTheOtherEnd();
              LogLine(1, Level::kError, "lost");
              sigpending(&pending);
              _exit(sigismember(&pending, SIGPIPE) == 1 ? 0 : 1);
            }),
            0);
}

}  // namespace
}  // namespace tessera::limiter
