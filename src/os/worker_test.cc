// SPDX-License-Identifier: Apache-2.0
#include "os/worker.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <future>
#include <latch>
#include <string>
#include <thread>

#include "os/files.h"
#include "os/thread.h"

namespace tessera::os {
namespace {

TEST(WorkersTest, ATaskRunsOnAnotherThread) {
  Workers workers(1);
  std::promise<std::thread::id> id;

  workers.Run([&] { id.set_value(std::this_thread::get_id()); });

  EXPECT_NE(id.get_future().get(), std::this_thread::get_id());
}

TEST(WorkersTest, AHangingTaskDoesNotHoldUpTheNext) {
  std::latch release(1);
  std::promise<void> second;
  Workers workers(2);
  workers.Run([&] { release.wait(); });

  workers.Run([&] { second.set_value(); });

  second.get_future().get();
  release.count_down();
}

TEST(WorkersTest, TasksBeyondTheLimitWaitInLine) {
  std::promise<std::string> done;
  std::string order;
  Workers workers(1);
  workers.Run([&] { order += "a"; });
  workers.Run([&] { order += "b"; });
  workers.Run([&] { done.set_value(order); });

  EXPECT_EQ(done.get_future().get(), "ab");
}

// While it lives a further thread has no room for its stack.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    getrlimit(RLIMIT_AS, &before_);
    const std::string statm = ReadFile("/proc/self/statm").value();
    const rlim_t pages = std::stoul(statm);
    const rlimit none = {pages * static_cast<rlim_t>(getpagesize()) + (1 << 20), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_AS, &none), 0);
    // Stacks of threads that have ended are kept for the next.
    while (StartThread([end = end_] { end->wait(); })) continue;
  }
  ~NoMoreThreads() {
    end_->count_down();
    setrlimit(RLIMIT_AS, &before_);
  }

 private:
  const std::shared_ptr<std::latch> end_ = std::make_shared<std::latch>(1);
  rlimit before_{};
};

TEST(WorkersTest, WhereThereCanBeNoMoreThreadsATaskWaitsForOneThatThereIs) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory does not fit in the limit";
#endif
  std::latch release(1);
  std::latch began(1);
  std::promise<void> second;
  Workers workers(2);
  workers.Run([&] {
    began.count_down();
    release.wait();
  });
  began.wait();

  {
    const NoMoreThreads limit;
    workers.Run([&] { second.set_value(); });
  }

  release.count_down();
  second.get_future().get();
}

TEST(WorkersTest, AFirstThreadIsTriedForAgain) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory does not fit in the limit";
#endif
  std::promise<void> done;
  Workers workers(2);
  {
    const NoMoreThreads limit;
    workers.Run([&] { done.set_value(); });
    workers.GoOn();
  }

  workers.GoOn();

  done.get_future().get();
}

TEST(WorkersTest, AThreadBesideOneThatHangsIsTriedForAgain) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory does not fit in the limit";
#endif
  std::latch began(1);
  std::latch release(1);
  std::promise<void> second;
  Workers workers(2);
  workers.Run([&] {
    began.count_down();
    release.wait();
  });
  began.wait();
  {
    const NoMoreThreads limit;
    workers.Run([&] { second.set_value(); });
  }

  workers.GoOn();

  second.get_future().get();
  release.count_down();
}

TEST(WorkersTest, AHungTaskDoesNotKeepTheOwnerFromEnding) {
  auto release = std::make_shared<std::latch>(1);
  auto started = std::make_shared<std::latch>(1);
  {
    Workers workers(1);
    workers.Run([release, started] {
      started->count_down();
      release->wait();
    });
    started->wait();
  }
  release->count_down();
}

}  // namespace
}  // namespace tessera::os
