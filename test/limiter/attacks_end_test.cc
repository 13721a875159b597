// SPDX-License-Identifier: Apache-2.0
// Programs that end before the limiter can have measured their launches, again and again.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "limiter/share_test.h"

namespace tessera::limiter {
namespace {

class AttacksEndTest : public ShareTest {
 protected:
  AttacksEndTest() {
    node_.Set("TESSERA_FAKE_CUDA_OPTIONS", "context-mib=0,slice-us=2000,late-ms=0");
  }

  // Waits by a call that the limiter does not hook.
  void WaitUnseen() { library_->As<CUresult()>("cuCtxSynchronize")(); }
  static void Pause(uint64_t ns) {
    const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(ns)};
    nanosleep(&time, nullptr);
  }
  static void Die() { raise(SIGKILL); }
  static void Exit() { exit(0); }
  // Does what the library does at a program's exit, and skips the test's own exit code.
  static void LeaveAndGo() {
    Leave();
    _exit(0);
  }

  void RunToItsEnd(const std::function<void()>& body) {
    const pid_t pid = Start([&] {
      EXPECT_EQ(atexit(LeaveAndGo), 0);  // registered first, so called last
      body();
    });
    EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
  }
  // All time that was charged, in ns.
  uint64_t Used() {
    uint64_t used = 0;
    int told[2];
    EXPECT_EQ(pipe(told), 0);
    Run([&] {
      used = TheRegion()->accounting.times[0].used;
      EXPECT_EQ(write(told[1], &used, sizeof used), static_cast<ssize_t>(sizeof used));
    });
    EXPECT_EQ(read(told[0], &used, sizeof used), static_cast<ssize_t>(sizeof used));
    close(told[0]);
    close(told[1]);
    return used;
  }
  uint64_t BusyByAll() {
    const auto state = fake_cuda::State::Open(node_.directory(), 0);
    const unsigned card = state->Find(kUuid);
    return card == fake_cuda::kMostCards ? 0 : state->Busy(0, card);
  }
  // Runs such processes one after the other for 2 s; together they get no more than the share.
  void ExpectShareOfProcesses(const std::function<void()>& body, uint64_t ns) {
    const uint64_t from = fake_cuda::Now(), before = BusyByAll();
    while (fake_cuda::Now() - from < 2'000 * kMs) RunToItsEnd(body);
    const uint64_t busy = BusyByAll() - before;
    EXPECT_LE(busy, kSaved + (fake_cuda::Now() - from) * 32 / 100 + ns);
    EXPECT_GE(busy, ns) << "they ran at all";
  }
};

TEST_F(AttacksEndTest, ProcessesOfOneLongKernelEachGetTheirShare) {
  for (const auto end : {Die, Exit}) {
    SCOPED_TRACE(end == Die ? "killed" : "exit");
    ExpectShareOfProcesses(
        [&] {
          Spin(60 * kMs);
          WaitUnseen();
          end();
        },
        60 * kMs);
  }
}

TEST_F(AttacksEndTest, ProcessesThatAreKilledInTheMidstOfOneKernelGetTheirShare) {
  ExpectShareOfProcesses(
      [&] {
        Spin(10'000 * kMs);
        Pause(60 * kMs);
        Die();
      },
      60 * kMs);
}

TEST_F(AttacksEndTest, ALongKernelThatIsTakenForAShortOneIsChargedThoughItIsNotMeasured) {
  ExpectShareOfProcesses(
      [&] {
        for (int i = 0; i < 3; ++i) {
          Spin(10'000);
          cuCtxSynchronize();
        }
        Spin(60 * kMs);
        WaitUnseen();
        Die();
      },
      60 * kMs);
}

TEST_F(AttacksEndTest, WhoWaitedForItsLaunchesIsNotChargedForWhatItDidAfterwards) {
  CUstream stream = nullptr;
  const std::function<void()> waits[] = {
      [&] { cuCtxSynchronize(); },
      [&] { cuStreamSynchronize(stream); },
      [&] {
        while (cuStreamQuery(stream) != CUDA_SUCCESS) Pause(100'000);
      },
  };
  for (const auto& wait : waits) {
    SCOPED_TRACE(&wait - waits);
    const uint64_t before = Used();
    RunToItsEnd([&] {
      stream = NewStream();
      for (int i = 0; i < 20; ++i) Spin(200'000, stream);
      wait();
      Pause(300 * kMs);
      Die();
    });
    EXPECT_GE(Used() - before, 20 * 200'000 - 2 * kMs);
    EXPECT_LE(Used() - before, 20 * 200'000 + kHeldUp);
  }
}

TEST_F(AttacksEndTest, WhatWasMeasuredIsKnownWhenAProgramEndsWell) {
  for (const bool has_context : {true, false}) {
    SCOPED_TRACE(has_context);
    const uint64_t before = Used();
    RunToItsEnd([&] {
      Spin(60 * kMs);
      WaitUnseen();
      Pause(300 * kMs);
      if (!has_context) library_->As<CUresult(CUcontext)>("cuCtxSetCurrent")(nullptr);
      Exit();
    });
    EXPECT_GE(Used() - before, 59 * kMs);
    EXPECT_LE(Used() - before, 60 * kMs + kHeldUp);
  }
}

TEST_F(AttacksEndTest, AWaitForAnotherStreamTellsNothing) {
  ExpectShareOfProcesses(
      [&] {
        const CUstream other = NewStream();
        for (int i = 0; i < 3; ++i) {
          Spin(10'000);
          cuCtxSynchronize();
        }
        Spin(60 * kMs);
        cuStreamSynchronize(other);
        WaitUnseen();
        Die();
      },
      60 * kMs);
}

}  // namespace
}  // namespace tessera::limiter
