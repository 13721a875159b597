// SPDX-License-Identifier: Apache-2.0
#include "os/worker.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <future>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

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

TEST(WorkersTest, OfManyEachIsDoneOnceAndWhatFollowsWhenAllAre) {
  constexpr size_t kCount = 1'000;
  Workers workers(4);
  std::vector<std::atomic<int>> done(kCount);
  std::promise<std::vector<int>> then;

  workers.ForEach(
      kCount, [&](size_t i) { ++done[i]; },
      [&] { then.set_value(std::vector<int>(done.begin(), done.end())); });

  EXPECT_EQ(then.get_future().get(), std::vector<int>(kCount, 1));
}

TEST(WorkersTest, OfManyAllThatWaitDoSoTogether) {
  constexpr int kCount = 8;
  std::latch all_there(kCount);
  std::promise<void> then;
  Workers workers(kCount);

  workers.ForEach(kCount, [&](size_t) { all_there.arrive_and_wait(); }, [&] { then.set_value(); });

  then.get_future().get();
}

TEST(WorkersTest, OfNoneThereIsOnlyWhatFollows) {
  Workers workers(1);
  std::thread::id by;

  workers.ForEach(0, [](size_t) {}, [&] { by = std::this_thread::get_id(); });

  EXPECT_EQ(by, std::this_thread::get_id());
}

TEST(WorkersTest, WhoFindsNoOtherThreadDoesAllOfThemItself) {
  std::latch began(1);
  std::latch release(1);
  std::set<std::thread::id> by;
  Workers workers(1);
  workers.Run([&] {
    began.count_down();
    release.wait();
  });
  began.wait();

  workers.ForEach(3, [&](size_t) { by.insert(std::this_thread::get_id()); }, [] {});

  EXPECT_EQ(by, std::set<std::thread::id>{std::this_thread::get_id()});
  release.count_down();
}

// While this exists, there is no memory for another thread's stack.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t none = before_;
    EXPECT_EQ(pthread_attr_setstacksize(&none, size_t{1} << 47), 0);
    EXPECT_EQ(pthread_setattr_default_np(&none), 0);
  }
  ~NoMoreThreads() { pthread_setattr_default_np(&before_); }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

class ShortOfThreadsTest : public testing::Test {
 protected:
  // Its thread is busy until `release_`.
  void Hang() {
    workers_.Run([this] {
      began_.count_down();
      release_.wait();
    });
    began_.wait();
  }
  void RunWithoutThreads() {
    const NoMoreThreads limit;
    workers_.Run([this] { done_.set_value(); });
    workers_.GoOn();
  }

  std::latch began_{1};
  std::latch release_{1};
  std::promise<void> done_;
  Workers workers_{2};
};

TEST_F(ShortOfThreadsTest, ATaskWaitsForAThreadThatThereIs) {
  Hang();
  RunWithoutThreads();

  release_.count_down();
  done_.get_future().get();
}

TEST_F(ShortOfThreadsTest, AFirstThreadIsTriedForAgain) {
  RunWithoutThreads();

  workers_.GoOn();

  done_.get_future().get();
}

TEST_F(ShortOfThreadsTest, AThreadBesideOneThatHangsIsTriedForAgain) {
  Hang();
  RunWithoutThreads();

  workers_.GoOn();

  done_.get_future().get();
  release_.count_down();
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
