// SPDX-License-Identifier: Apache-2.0
// Programs that execute others: the id stays, the lock and the memory go.
#include "limiter/accounting/container_test.h"

namespace tessera::limiter {
namespace {

class ExecTest : public Container {
 protected:
  // Executes this program again, in the part below. The environment carries its arguments.
  void Execute(int times, int ready) {
    setenv("BOOKS_TEST_REGION", Path().c_str(), 1);
    setenv("BOOKS_TEST_TIMES", std::to_string(times).c_str(), 1);
    setenv("BOOKS_TEST_READY", std::to_string(ready).c_str(), 1);
    // The child runs one test; a sharded run must not skip it.
    unsetenv("GTEST_TOTAL_SHARDS");
    unsetenv("GTEST_SHARD_INDEX");
    const char* const arguments[] = {"program", "--gtest_also_run_disabled_tests",
                                     "--gtest_filter=ExecTest.DISABLED_Program", nullptr};
    execv("/proc/self/exe", const_cast<char* const*>(arguments));
    _exit(2);
  }
  void Await(int ready) {
    char byte;
    EXPECT_EQ(read(ready, &byte, 1), 1);
  }
};

// Not a test: holds 10 MiB and executes itself so many times, then reports that it is ready and
// stays.
TEST_F(ExecTest, DISABLED_Program) {
  std::strcpy(limits_.region, getenv("BOOKS_TEST_REGION"));
  const int times = std::atoi(getenv("BOOKS_TEST_TIMES"));
  const int ready = std::atoi(getenv("BOOKS_TEST_READY"));
  if (!JoinWith(limits_) || !Reserve(0, 10 * kMiB, Kind::kData)) _exit(1);
  if (times > 0) {
    setenv("BOOKS_TEST_TIMES", std::to_string(times - 1).c_str(), 1);
    const char* const arguments[] = {"program", "--gtest_also_run_disabled_tests",
                                     "--gtest_filter=ExecTest.DISABLED_Program", nullptr};
    execv("/proc/self/exe", const_cast<char* const*>(arguments));
    _exit(2);
  }
  if (write(ready, "", 1) != 1) _exit(3);
  for (;;) pause();
}

TEST_F(ExecTest, AProgramExecutedTwiceHoldsOnlyWhatItsLastOneDoes) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = Start([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Reserve(0, 30 * kMiB, Kind::kData));
    Execute(2, ready[1]);
  });
  Await(ready[0]);
  EXPECT_EQ(Total(), 10 * kMiB);
  EXPECT_EQ(SumOfShares(), 10 * kMiB);
  Kill(pid);
}

TEST_F(ExecTest, AProgramStartedByVforkIsAProcessOfItsOwn) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Reserve(0, 30 * kMiB, Kind::kData));
    const pid_t child = vfork();
    if (child == 0) Execute(0, ready[1]);
    Await(ready[0]);
    EXPECT_EQ(Used(0), 40 * kMiB);
    EXPECT_EQ(ShareOfSlot(0), 30 * kMiB);
    EXPECT_EQ(ShareOfSlot(1), 10 * kMiB);
    Release(0, 30 * kMiB, Kind::kData);
    EXPECT_EQ(Used(0), 10 * kMiB);
    Kill(child);
  });
}

}  // namespace
}  // namespace tessera::limiter
