// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet/cancellation.h"

#include <gtest/gtest.h>

#include <thread>

#include "os/waiting_test.h"

namespace tessera::kubelet::embedded {
namespace {

TEST(Cancellation, AWaitEndsWhenItIsCancelled) {
  Cancellation cancellation;
  os::WaitingCall waiting([&] { EXPECT_TRUE(cancellation.WaitFor(Duration(600'000))); });
  cancellation.Cancel();
  waiting.Join();
}

TEST(Cancellation, AHookRunsOnceWhetherItCameBeforeOrAfter) {
  Cancellation cancellation;
  int early = 0;
  int late = 0;
  Cancellation::Hook before(cancellation, [&] { ++early; });
  cancellation.Cancel();
  cancellation.Cancel();
  Cancellation::Hook after(cancellation, [&] { ++late; });
  EXPECT_EQ(early, 1);
  EXPECT_EQ(late, 1);
}

TEST(Cancellation, AHookThatEndedDoesNotRun) {
  Cancellation cancellation;
  int runs = 0;
  {
    Cancellation::Hook gone(cancellation, [&] { ++runs; });
  }
  cancellation.Cancel();
  EXPECT_EQ(runs, 0);
}

TEST(Outstanding, WaitsForTheLastCopyOfEveryToken) {
  Outstanding outstanding;
  auto first = outstanding.Begin();
  auto copy = first;
  std::thread ending([token = std::move(copy)]() mutable { token.reset(); });
  first.reset();
  outstanding.WaitForNone();
  ending.join();
}

}  // namespace
}  // namespace tessera::kubelet::embedded
