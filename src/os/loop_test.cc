// SPDX-License-Identifier: Apache-2.0
#include "os/loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "os/fd.h"

namespace tessera::os {
namespace {

TEST(LoopTest, PostedTasksRunInTheirOrder) {
  Loop loop;
  std::string order;
  loop.Post([&] { order += "a"; });
  loop.Post([&] { order += "b"; });
  loop.Post([&] { loop.Stop(); });

  loop.Run();

  EXPECT_EQ(order, "ab");
}

TEST(LoopTest, ATaskFromAnotherThreadWakesTheLoop) {
  Loop loop;
  std::thread thread([&] { loop.Post([&] { loop.Stop(); }); });

  loop.Run();

  thread.join();
}

TEST(LoopTest, WhatTheLoopsThreadPostsRunsAfterWhatOthersHadPostedBefore) {
  Loop loop;
  std::string ran;
  loop.Post([&] {
    std::thread([&] { loop.Post([&] { ran += "b"; }); }).join();
    loop.Post([&] {
      ran += "c";
      loop.Post([&] { ran += "d"; });
      loop.Stop();
    });
    ran += "a";
  });

  loop.Run();

  EXPECT_EQ(ran, "abcd");
}

TEST(LoopTest, StopBeforeRunIsNotLost) {
  Loop loop;
  loop.Stop();

  loop.Run();
}

TEST(LoopTest, TasksPostedBeforeAnEarlyStopStillRun) {
  Loop loop;
  bool ran = false;
  loop.Post([&] { ran = true; });
  loop.Stop();

  loop.Run();

  EXPECT_TRUE(ran);
}

TEST(LoopTest, ATimerRunsOnceAndAPeriodicOneAgain) {
  Loop loop;
  int once = 0;
  int often = 0;
  auto timer = loop.After(Duration(1), [&] { ++once; });
  auto periodic = loop.Every(Duration(1), [&] {
    if (++often == 5) loop.Stop();
  });

  loop.Run();

  EXPECT_EQ(once, 1);
  EXPECT_EQ(often, 5);
}

TEST(LoopTest, ATimerThatIsSetLateInATurnIsNotEarlyForIt) {
  constexpr Duration kDelay(20);
  Loop loop;
  Loop::Handle timer;
  Steady set{};
  Steady ran{};
  loop.Post([&] {
    for (const Steady begun = SystemClock().Now(); SystemClock().Now() - begun < 2 * kDelay;) {
    }
    set = SystemClock().Now();
    timer = loop.After(kDelay, [&] {
      ran = SystemClock().Now();
      loop.Stop();
    });
  });

  loop.Run();

  EXPECT_GE(ran - set, kDelay);
}

TEST(LoopTest, ADestroyedTimerDoesNotRun) {
  Loop loop;
  bool ran = false;
  {
    auto timer = loop.After(Duration(0), [&] { ran = true; });
  }
  auto end = loop.After(Duration(5), [&] { loop.Stop(); });

  loop.Run();

  EXPECT_FALSE(ran);
}

TEST(LoopTest, ATimerMayDestroyItself) {
  Loop loop;
  Loop::Handle timer;
  timer = loop.Every(Duration(1), [&] {
    timer = Loop::Handle();
    loop.Stop();
  });

  loop.Run();

  EXPECT_FALSE(timer);
}

TEST(LoopTest, AReadablePipeIsTold) {
  Loop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  char got = 0;
  auto watch = loop.WhenReadable(ends[0], [&] {
    ASSERT_EQ(read(ends[0], &got, 1), 1);
    loop.Stop();
  });
  ASSERT_EQ(write(ends[1], "x", 1), 1);

  loop.Run();

  EXPECT_EQ(got, 'x');
  close(ends[0]);
  close(ends[1]);
}

TEST(LoopTest, ASignalIsHandledOnTheLoop) {
  Loop loop;
  auto handle = loop.OnSignal(SIGHUP, [&] { loop.Stop(); });
  raise(SIGHUP);

  loop.Run();
}

TEST(LoopTest, WhatTheLibraryComplainsOfIsALineOfOurLog) {
  std::vector<std::string> lines;
  log::SetSink([&](std::string_view line) { lines.emplace_back(line); });
  Loop loop;
  Fd fd(dup(STDERR_FILENO));
  int closed = fd.get();
  fd.Reset();

  auto watch = loop.WhenReadable(closed, [] {});

  log::SetSink(nullptr);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find(" WARN event loop text=\"Epoll ADD"), std::string::npos) << lines[0];
}

}  // namespace
}  // namespace tessera::os
