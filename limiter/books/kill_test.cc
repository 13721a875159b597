// SPDX-License-Identifier: Apache-2.0
// Processes that are killed in the midst of everything: at every instruction of an operation, and
// at random.
#include <sys/ptrace.h>
#include <sys/resource.h>

#include <chrono>
#include <random>
#include <vector>

#include "limiter/books/container_test.h"
#include "limiter/books/lending.h"
#include "limiter/books/slots.h"
#include "limiter/memory/passed.h"
#include "limiter/time/bucket.h"
#include "limiter/time/flight.h"
#include "limiter/time/neighbours.h"

namespace tessera::limiter {
namespace {

constexpr uint64_t kOwn = 3 * kMiB;

// A process that lives through all of it and does as it is told over pipes.
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
    (void)Verdict();  // some of its pages come from a disk
    ASSERT_EQ(Verdict(), 'y');
  }

  // The dead hold nothing: all but what the survivor has is there for it at its next call, which is
  // not waited for by a single switch to another process.
  char LookAround() {
    rusage before;
    getrusage(RUSAGE_SELF, &before);
    const bool granted = Reserve(0, Limit(0) - kOwn, Kind::kData);
    rusage after;
    getrusage(RUSAGE_SELF, &after);
    if (!granted) return 'd';
    const bool exact = Total() == Limit(0) && SumOfShares() == Limit(0);
    Release(0, Limit(0) - kOwn, Kind::kData);
    if (!exact || Total() != kOwn || SumOfShares() != kOwn) return 'x';
    return after.ru_nvcsw == before.ru_nvcsw ? 'y' : 'w';
  }

  char Verdict() {
    char verdict = 0;
    EXPECT_EQ(write(order_[1], "", 1), 1);
    EXPECT_EQ(read(answer_[0], &verdict, 1), 1);
    return verdict;
  }

  // A process stopped right before what it is to do.
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

  // One instruction, or up to the next call of the kernel or return of one. False: it has come to
  // the end.
  static bool Go(pid_t pid, __ptrace_request how) {
    ptrace(how, pid, nullptr, nullptr);
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  }

  // Unless it came to its end by itself, which was waited for.
  static void KillIfThere(pid_t pid) {
    if (kill(pid, 0) == 0) Kill(pid);
  }

  // False: it had ended by then.
  template <typename Prepare, typename Run>
  static bool KillAfter(int64_t steps, __ptrace_request how, Prepare prepare, Run run) {
    const pid_t pid = Stopped(prepare, run);
    bool within = true;
    for (int64_t i = 0; i < steps && within; ++i) within = Go(pid, how);
    KillIfThere(pid);
    return within;
  }

  // What whoever comes next would find, were all but the survivor dead.
  bool WouldBeExact() {
    static Region copy;
    constexpr size_t kSlots = 8;
    std::memcpy(&copy.books, &Shown().books, offsetof(Books, slots) + kSlots * sizeof(SlotBooks));
    for (uint32_t slot = 1; slot < kSlots; ++slot) Empty(&copy, slot);
    return TotalOf(copy.books, 0) * kUnit == kOwn && ShareOf(&copy.books, 0, 0) * kUnit == kOwn;
  }

  // What is lent, were all but the survivor dead; -1: the books are not exact.
  int64_t WouldBeLent() {
    static Region copy;
    constexpr size_t kSlots = 8;
    std::memcpy(&copy.books, &Shown().books, offsetof(Books, slots) + kSlots * sizeof(SlotBooks));
    std::memcpy(&copy.books.lendings, &Shown().books.lendings,
                kSlots * sizeof copy.books.lendings[0]);
    for (uint32_t slot = 1; slot < kSlots; ++slot) Empty(&copy, slot);
    const uint64_t lent = ShareOf(&copy.books, 0, kLentSlot) * kUnit;
    const bool exact =
        TotalOf(copy.books, 0) * kUnit == kOwn + lent && ShareOf(&copy.books, 0, 0) * kUnit == kOwn;
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

  // Looks at the books at every instruction; kills at every call of the kernel and at random
  // instructions.
  template <typename Prepare, typename Run>
  void KillEverywhere(Prepare prepare, Run run) {
    int64_t length = 0;
    const pid_t pid = Stopped(prepare, run);
    for (; Go(pid, PTRACE_SINGLESTEP); ++length) {
      if (survivor_ > 0) ASSERT_TRUE(WouldBeExact()) << "after instruction " << length;
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

TEST_F(KillTest, AtAnyInstructionOfAReservation) {
  StartSurvivor();
  KillEverywhere(Joined(), [] { Reserve(0, kMiB, Kind::kData); });
}

TEST_F(KillTest, AtAnyInstructionOfAReservationWithContextBytes) {
  StartSurvivor();
  KillEverywhere(Joined(), [] { Reserve(0, kMiB, Kind::kContext); });
}

TEST_F(KillTest, AtAnyInstructionOfARelease) {
  StartSurvivor();
  KillEverywhere(Joined(), [] { Release(0, kMiB, Kind::kData); });
}

TEST_F(KillTest, AtAnyInstructionOfJoining) {
  StartSurvivor();
  KillEverywhere([] {}, [this] { JoinWith(limits_); });
}

TEST_F(KillTest, AtAnyInstructionOfJoiningWhileTheDeadAreReaped) {
  StartSurvivor();
  KillEverywhere([this] { Kill(StartHolding(kMiB)); }, [this] { JoinWith(limits_); });
}

TEST_F(KillTest, AtAnyInstructionOfLeaving) {
  StartSurvivor();
  KillEverywhere(Joined(), [] { Leave(); });
}

TEST_F(KillTest, AtAnyInstructionOfAFork) {
  StartSurvivor();
  KillEverywhere(Joined(), [] {
    if (fork() == 0) _exit(0);
  });
}

TEST_F(KillTest, AtAnyInstructionOfAnExec) {
  StartSurvivor();
  KillEverywhere(Joined(), [] { execl("/bin/true", "true", nullptr); });
}

TEST_F(KillTest, AtAnyInstructionOfALaunchsBooks) {
  StartSurvivor();
  constexpr uint64_t kNow = uint64_t{1} << 40;
  constexpr int64_t kCost = 4'000'000, kMore = 3'000'000;
  const auto books = [] { return &TheRegion()->books.times[0]; };
  const auto launch = [&] {
    Take(books(), kNow, 50, kCost);
    NewlyBusy(books(), kNow, kNow - 9'000'000, kNow - 2'000'000);
    ChargeAlone(books(), {7'000'000, 5'000'000});
    Settle(books(), Company::kNone);
    Correct(books(), kNow, 50, kMore);
  };
  const auto prepare = [&] {
    Joined()();
    *books() = {};
  };
  // The bucket is as it was before one of these, or after it.
  const pid_t pid = Stopped(prepare, launch);
  for (int64_t at = 0; Go(pid, PTRACE_SINGLESTEP); ++at) {
    const TotalWord& word = Shown().books.times[0].bucket;
    const int64_t left = LeftIn(word);
    const bool known =
        (word.high == 0 && left == 0) ||
        (word.high == kNow && (left == kBurst - kCost || left == kBurst - kCost - kMore));
    ASSERT_TRUE(known) << left << " at " << word.high << " after instruction " << at;
  }
  Kill(pid);
  KillEverywhere(prepare, launch);
}

TEST_F(KillTest, AtAnyInstructionOfTheChargeForAnEnd) {
  StartSurvivor();
  constexpr uint64_t kNow = uint64_t{1} << 40, kRan = 35'000'000;
  constexpr int64_t kTaken = 5'000'000;
  constexpr uint32_t kOne = 3, kOther = 2;
  const auto prepare = [&] {
    Joined()();
    Books& books = TheRegion()->books;
    books.times[0] = {};
    books.times[0].bucket = {0, kNow};
    books.flights[kOne][0] = {kNow - kRan, kTaken};
    books.flights[kOther][0] = {kNow, 0};
  };
  const auto charge = [] { ChargeEnd(TheRegion(), kOne, 0, kNow, 0); };
  // Whoever comes next charges what is left to be, whichever slot it looks at first.
  const auto left_after = [&](const std::vector<uint32_t>& slots) {
    static Region copy;
    std::memcpy(copy.books.times, Shown().books.times, sizeof copy.books.times);
    std::memcpy(copy.books.flights, Shown().books.flights, 8 * sizeof copy.books.flights[0]);
    copy.books.slots_used = 8;
    for (const uint32_t slot : slots) ChargeEnd(&copy, slot, 0, kNow, 0);
    EXPECT_EQ(copy.books.flights[kOne][0].since, 0u);
    return LeftIn(copy.books.times[0].bucket);
  };
  constexpr int64_t kOwed = kTaken - static_cast<int64_t>(kRan);
  const pid_t pid = Stopped(prepare, charge);
  for (int64_t at = 0; Go(pid, PTRACE_SINGLESTEP); ++at) {
    ASSERT_EQ(left_after({kOne}), kOwed) << "after instruction " << at;
    ASSERT_EQ(left_after({kOther, kOne}), kOwed) << "after instruction " << at;
  }
  KillIfThere(pid);
  KillEverywhere(prepare, charge);
}

// What one process exported and another one has is counted once, whenever its maker is killed.
TEST_F(KillTest, AtAnyInstructionOfGivingUpWhatAnotherProcessHas) {
  StartSurvivor();
  Shown().books.lendings[0][0].imported = kMiB;
  const auto export_it = [&] {
    Joined()();
    NoteExported(0, kMiB);
  };
  const auto give_up = [] { Parting(0, false).GiveUp(kMiB, By::kOpening); };
  ExpectLeftAtAnyInstruction(kMiB, export_it, give_up);
  const auto by_descriptor = [] { Parting(0, false).GiveUp(kMiB, By::kDescriptor); };
  ExpectLeftAtAnyInstruction(kMiB, export_it, by_descriptor);
}

TEST_F(KillTest, AtAnyInstructionOfReapingWhatAnotherProcessHas) {
  StartSurvivor();
  Shown().books.lendings[0][0].imported = kMiB;
  const auto die = [&] {
    const pid_t pid = StartHolding(5 * kMiB);
    Shown().books.lendings[1][0].exported = 2 * kMiB;
    Kill(pid);
  };
  ExpectLeftAtAnyInstruction(kMiB, die, [this] { JoinWith(limits_); });
}

TEST_F(KillTest, AtAnyInstructionOfGivingBackWhatADeadProcessMade) {
  StartSurvivor();
  const auto import = [&] {
    Joined()();
    Shown().books.lendings[OwnSlot()][0].imported = kMiB;
    EXPECT_TRUE(Reserve(0, kMiB, Kind::kData));
    Lend(&Shown().books, 0, static_cast<uint32_t>(OwnSlot()), kMiB / kUnit, kLentSlot);
    EXPECT_EQ(LentOf(Shown().books, 0) * kUnit, kMiB);
  };
  ExpectLeftAtAnyInstruction(0, import, [] { Parting(0, false).GiveBack(kMiB); });
}

TEST_F(KillTest, AtAnyInstructionOfMakingTheRegion) {
  KillEverywhere([] {},
                 [this] {
                   unlink(Path().c_str());
                   JoinWith(limits_);
                 });
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    EXPECT_EQ(entry.path(), Path());
    ++entries;
  }
  EXPECT_LE(entries, 1);
  InProcess([&] { EXPECT_TRUE(JoinWith(limits_)); });
}

TEST_F(KillTest, AThousandRandomKillsAmongEightProcesses) {
  StartSurvivor();
  std::mt19937 random(7);
  const auto start = [&] {
    return Start([&, seed = random()] {
      JoinWith(limits_);
      std::mt19937 own(seed);
      for (;;) {
        const uint64_t bytes = own() % kMiB;
        const Kind kind = static_cast<Kind>(own() % 3);
        if (Reserve(0, bytes, kind) && own() % 4 != 0) Release(0, bytes, kind);
      }
    });
  };
  std::vector<pid_t> processes;
  for (int i = 0; i < 8; ++i) processes.push_back(start());
  for (int round = 0; round < 1'000; ++round) {
    pid_t& victim = processes[random() % processes.size()];
    Kill(victim);
    victim = start();
    ASSERT_LE(Total(), 100 * kMiB);
  }
  for (const pid_t pid : processes) Kill(pid);
  const char verdict = Verdict();
  EXPECT_TRUE(verdict == 'y' || verdict == 'w') << verdict;
}

}  // namespace
}  // namespace tessera::limiter
