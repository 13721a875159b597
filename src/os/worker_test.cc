// SPDX-License-Identifier: Apache-2.0
#include "os/worker.h"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <string>
#include <thread>

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
