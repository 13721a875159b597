// SPDX-License-Identifier: Apache-2.0
#include "limiter/time/launch_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace tessera::limiter {
namespace {

class LineTest : public testing::Test {
 protected:
  // The numbers in the queue; those for which leaves(number) is true leave.
  template <typename Leaves>
  std::vector<int> Visited(Leaves leaves) {
    std::vector<int> all;
    queue_->Visit([&](int number) {
      all.push_back(number);
      return !leaves(number);
    });
    return all;
  }
  std::vector<int> All() {
    return Visited([](int) { return false; });
  }

  std::unique_ptr<LaunchQueue> queue_ = std::make_unique<LaunchQueue>();
};

TEST_F(LineTest, WhoCameFirstIsFirst) {
  EXPECT_TRUE(queue_->is_empty());
  for (const int number : {7, 0, 255}) queue_->Stand(number);
  EXPECT_FALSE(queue_->is_empty());
  EXPECT_EQ(All(), (std::vector<int>{7, 0, 255}));
  queue_->Stand(3);
  EXPECT_EQ(Visited([](int number) { return number % 2 == 1; }), (std::vector<int>{7, 0, 255, 3}));
  EXPECT_EQ(All(), std::vector<int>{0});
  Visited([](int) { return true; });
  EXPECT_TRUE(queue_->is_empty());
}

TEST_F(LineTest, WhoStaysAtItsHeadKeepsNobodyOut) {
  queue_->Stand(0);
  for (int i = 0; i < 10'000; ++i) {
    queue_->Stand(1 + i % 255);
    ASSERT_EQ(Visited([](int number) { return number != 0; }), (std::vector<int>{0, 1 + i % 255}));
  }
}

TEST_F(LineTest, ThereIsRoomForAll) {
  std::vector<int> all;
  for (int round = 0; round < 3; ++round) {
    all.clear();
    for (int i = 0; i < LaunchQueue::kMost; ++i) {
      queue_->Stand(i);
      all.push_back(i);
    }
    ASSERT_EQ(Visited([](int) { return true; }), all);
  }
}

TEST_F(LineTest, OfThreadsThatStandAtOnceNoneIsLost) {
  constexpr int kThreads = 2, kEach = LaunchQueue::kMost / kThreads, kRounds = 100;
  std::atomic<int> left[kThreads] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 1; round <= kRounds; ++round) {
        for (int number = 0; number < kEach; ++number) queue_->Stand(i * kEach + number);
        while (left[i] != round * kEach) std::this_thread::yield();
      }
    });
  }
  for (int all = 0; all < kThreads * kEach * kRounds;) {
    Visited([&](int number) {
      ++all;
      ++left[number / kEach];
      return true;
    });
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(queue_->is_empty());
}

}  // namespace
}  // namespace tessera::limiter
