// SPDX-License-Identifier: Apache-2.0
// For tests that kill processes in the middle of an operation: at every instruction of it, and at
// random.
#pragma once

#include <sys/ptrace.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>

#include "limiter/accounting/container_test.h"
#include "limiter/accounting/slots.h"
#include "test/waits/waits.h"

namespace tessera::limiter {

inline constexpr uint64_t kOwn = 3 * kMiB;

// A process that survives all kills and takes orders over pipes.
class KillTest : public Container {
 protected:
  ~KillTest() override {
    if (survivor_ > 0) Kill(survivor_);
  }

  void StartSurvivor() {
    ASSERT_EQ(pipe(order_), 0);
    ASSERT_EQ(pipe(answer_), 0);
    survivor_ = Start([&] {
      EXPECT_TRUE(JoinWith(limits_));
      EXPECT_TRUE(Reserve(0, kOwn, Kind::kData));
      char byte;
      while (read(order_[0], &byte, 1) == 1) {
        const char verdict = LookAround();
        EXPECT_EQ(write(answer_[1], &verdict, 1), 1);
      }
    });
    ASSERT_EQ(Verdict(), 'y');
  }

  // Dead processes hold no memory: the survivor's next call gets all but its own share, and waits
  // for no process. System calls that wait are counted instead of context switches. On a busy
  // machine the kernel also switches away while it writes a page of the region to disk.
  char LookAround() {
    const long before = Waits();
    const bool granted = Reserve(0, Limit(0) - kOwn, Kind::kData);
    const long after = Waits();
    if (!granted) return 'd';
    const bool exact = Total() == Limit(0) && SumOfShares() == Limit(0);
    Release(0, Limit(0) - kOwn, Kind::kData);
    if (!exact || Total() != kOwn || SumOfShares() != kOwn) return 'x';
    return after == before ? 'y' : 'w';
  }

  char Verdict() {
    char verdict = 0;
    EXPECT_EQ(write(order_[1], "", 1), 1);
    EXPECT_EQ(read(answer_[0], &verdict, 1), 1);
    return verdict;
  }

  // A process that is stopped right before run().
  template <typename Prepare, typename Run>
  static pid_t Stopped(Prepare prepare, Run run) {
    const pid_t pid = Start([&] {
      prepare();
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      raise(SIGSTOP);
      run();
      raise(SIGSTOP);
    });
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    return pid;
  }

  // Runs one instruction, or up to the next entry into or return from a system call. False: run()
  // has ended.
  static bool Go(pid_t pid, __ptrace_request how) {
    ptrace(how, pid, nullptr, nullptr);
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  }

  // Kills a process that has not ended by itself and been waited for.
  static void KillIfThere(pid_t pid) {
    if (kill(pid, 0) == 0) Kill(pid);
  }

  // False: run() had ended by then.
  template <typename Prepare, typename Run>
  static bool KillAfter(int64_t steps, __ptrace_request how, Prepare prepare, Run run) {
    const pid_t pid = Stopped(prepare, run);
    bool within = true;
    for (int64_t i = 0; i < steps && within; ++i) within = Go(pid, how);
    KillIfThere(pid);
    return within;
  }

  // The bytes that the next process would find lent if all but the survivor were dead; -1: the
  // accounting is not exact.
  int64_t WouldBeLent() {
    static Region copy;
    constexpr size_t kSlots = 8;
    std::memcpy(&copy.accounting, &Shown().accounting,
                offsetof(Accounting, slots) + kSlots * sizeof(SlotAccounting));
    std::memcpy(&copy.accounting.lendings, &Shown().accounting.lendings,
                kSlots * sizeof copy.accounting.lendings[0]);
    for (uint32_t slot = 1; slot < kSlots; ++slot) Empty(&copy, slot);
    const uint64_t lent = ShareOf(&copy.accounting, 0, kLentSlot) * kUnit;
    const bool exact = TotalOf(copy.accounting, 0) * kUnit == kOwn + lent &&
                       ShareOf(&copy.accounting, 0, 0) * kUnit == kOwn;
    return exact ? static_cast<int64_t>(lent) : -1;
  }

  template <typename Prepare, typename Run>
  void ExpectLeftAtAnyInstruction(int64_t lent, Prepare prepare, Run run) {
    const pid_t pid = Stopped(prepare, run);
    for (int64_t at = 0; Go(pid, PTRACE_SINGLESTEP); ++at) {
      ASSERT_EQ(WouldBeLent(), lent) << "after instruction " << at;
    }
    KillIfThere(pid);
    for (uint32_t slot = 1; slot < 8; ++slot) Empty(&Shown(), slot);
    EXPECT_EQ(WouldBeLent(), lent);
  }

  void ExpectTheSurvivorLivesOn(const char* what, int64_t at) {
    if (survivor_ <= 0) return;
    const char verdict = Verdict();
    ASSERT_EQ(verdict, 'y') << "d: denied, x: not exact, w: waited; " << what << " " << at;
  }

  // Checks the accounting after every instruction. Then kills at every system call and at random
  // instructions.
  template <typename Prepare, typename Run>
  void KillEverywhere(Prepare prepare, Run run) {
    int64_t length = 0;
    const pid_t pid = Stopped(prepare, run);
    for (; Go(pid, PTRACE_SINGLESTEP); ++length) {
      if (survivor_ > 0) {
        ASSERT_EQ(WouldBeLent(), 0) << "after instruction " << length;
      }
    }
    KillIfThere(pid);
    int64_t calls = 0;
    while (KillAfter(calls, PTRACE_SYSCALL, prepare, run)) {
      ExpectTheSurvivorLivesOn("call", calls++);
    }
    std::mt19937_64 random(static_cast<uint64_t>(length));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    int kills = 0;
    for (; std::chrono::steady_clock::now() < end && !HasFailure(); ++kills) {
      const auto at = static_cast<int64_t>(random() % static_cast<uint64_t>(length));
      KillAfter(at, PTRACE_SINGLESTEP, prepare, run);
      ExpectTheSurvivorLivesOn("instruction", at);
    }
    std::printf("%ld instructions looked at, %ld calls, %d kills\n", length, calls, kills);
  }

  auto Joined() {
    return [this] {
      EXPECT_TRUE(JoinWith(limits_));
      EXPECT_TRUE(Reserve(0, kMiB, Kind::kData));
    };
  }

  pid_t survivor_ = 0;
  int order_[2];
  int answer_[2];
};

}  // namespace tessera::limiter
