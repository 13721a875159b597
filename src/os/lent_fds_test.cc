// SPDX-License-Identifier: Apache-2.0
#include "os/lent_fds.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <new>
#include <string>

#include "os/files.h"

namespace tessera::os {
namespace {

constexpr Duration kLong{20'000};

class OpensPaths final : public LentOpener {
 public:
  explicit OpensPaths(std::vector<const char*> paths) : paths_(std::move(paths)) {}
  int Open(size_t number) override {
    const int fd = open(paths_[number], O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
  }

 private:
  const std::vector<const char*> paths_;
};

// Its process's id is in memory that it shares with this one.
class Hangs final : public LentOpener {
 public:
  explicit Hangs(std::atomic<pid_t>& child) : child_(child) {}
  int Open(size_t) override {
    child_ = getpid();
    pause();
    return -EINTR;
  }

 private:
  std::atomic<pid_t>& child_;
};

// Whether it has a descriptor of this number.
class LooksFor final : public LentOpener {
 public:
  explicit LooksFor(int fd) : fd_(fd) {}
  int Open(size_t) override { return fcntl(fd_, F_GETFD) < 0 ? -errno : -EEXIST; }

 private:
  const int fd_;
};

// Whether it takes no signals.
class LooksForSignals final : public LentOpener {
 public:
  int Open(size_t) override {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return sigismember(&blocked, SIGTERM) == 1 ? -ECANCELED : -EEXIST;
  }
};

class Dies final : public LentOpener {
 public:
  int Open(size_t number) override {
    if (number == 1) _exit(1);
    return -EACCES;
  }
};

TEST(LentFdsTest, EachDescriptorIsTheOneThatTheChildOpened) {
  const std::string directory = MakeTemporaryDirectory(testing::TempDir() + "lent").value();
  const std::string path = directory + "/a";
  ASSERT_TRUE(ReplaceFile(path, "text"));
  OpensPaths opener({path.c_str(), "/nowhere", "/dev/null"});

  const auto opened = OpenInChild(opener, 3, kLong);

  ASSERT_TRUE(opened) << opened.error().Text();
  ASSERT_EQ(opened->size(), 3U);
  char text[4] = {};
  EXPECT_EQ(read((*opened)[0]->get(), text, sizeof(text)), 4);
  EXPECT_EQ(std::string(text, 4), "text");
  EXPECT_EQ(fcntl((*opened)[0]->get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ((*opened)[1].error(),
            (Error{Reason::kNotFound, "cannot open it: No such file or directory"}));
  EXPECT_TRUE((*opened)[2]->valid());
  EXPECT_TRUE(RemoveTree(directory));
}

TEST(LentFdsTest, AChildThatHangsIsKilled) {
  void* const shared = mmap(nullptr, sizeof(std::atomic<pid_t>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& child = *new (shared) std::atomic<pid_t>(0);
  Hangs opener(child);
  EXPECT_EQ(OpenInChild(opener, 1, Duration(1'000)).error(),
            (Error{Reason::kTimedOut, "the driver does not answer in time"}));
  EXPECT_NE(child, 0);
  // As long as it is there, no other one is made.
  Dies next;
  const Steady end = SystemClock().Now() + kLong;
  while (OpenInChild(next, 2, kLong).error().reason == Reason::kTimedOut &&
         SystemClock().Now() < end) {
  }
  EXPECT_EQ(kill(child, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  munmap(shared, sizeof(std::atomic<pid_t>));
}

TEST(LentFdsTest, TheChildHasNoDescriptorOfThisProcess) {
  const Fd ours(open("/dev/null", O_RDONLY));
  LooksFor opener(ours.get());
  const auto opened = OpenInChild(opener, 1, kLong);
  ASSERT_TRUE(opened) << opened.error().Text();
  EXPECT_EQ((*opened)[0].error().message, "cannot open it: Bad file descriptor");
}

TEST(LentFdsTest, SignalsOfThisProcessAreNotTheChilds) {
  LooksForSignals opener;
  const auto opened = OpenInChild(opener, 1, kLong);
  ASSERT_TRUE(opened) << opened.error().Text();
  EXPECT_EQ((*opened)[0].error().message, "cannot open it: Operation canceled");
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 0);
}

TEST(LentFdsTest, AChildThatEndsEarlyIsTold) {
  Dies opener;
  EXPECT_EQ(OpenInChild(opener, 2, kLong).error(),
            (Error{Reason::kInternal, "a child process ended early"}));
}

}  // namespace
}  // namespace tessera::os
