// SPDX-License-Identifier: Apache-2.0
#include "limiter/accounting/accounting.h"

#include <linux/sched.h>
#include <sys/syscall.h>

#include <thread>
#include <vector>

#include "limiter/accounting/container_test.h"
#include "limiter/accounting/locks.h"
#include "limiter/accounting/slots.h"

namespace tessera::limiter {
namespace {

using AccountingTest = Container;

TEST_F(AccountingTest, ProcessesOfAContainerHaveOneLimit) {
  const pid_t other = StartHolding(60 * kMiB);
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_EQ(Used(0), 60 * kMiB);
    EXPECT_EQ(Limit(0), 100 * kMiB);
    EXPECT_FALSE(Reserve(0, 40 * kMiB + 1, Kind::kData));
    EXPECT_TRUE(Reserve(0, 40 * kMiB, Kind::kData));
    EXPECT_EQ(Used(0), 100 * kMiB);
    Release(0, 40 * kMiB, Kind::kData);
    EXPECT_EQ(Used(0), 60 * kMiB);
  });
  Kill(other);
}

TEST_F(AccountingTest, WhatIsNotOfTheAccountingIsNotLimited) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_EQ(DeviceOf("GPU-aa"), 0);
    EXPECT_EQ(DeviceOf("GPU-zz"), -1);
    EXPECT_TRUE(Reserve(-1, UINT64_MAX, Kind::kData));
    EXPECT_FALSE(Reserve(0, UINT64_MAX, Kind::kData));
    EXPECT_EQ(Used(0), 0u);
  });
}

TEST_F(AccountingTest, WhatAKilledProcessHeldIsThereForWhoeverNeedsIt) {
  Kill(StartHolding(90 * kMiB));
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_EQ(Used(0), 0u);
    const pid_t other = StartHolding(90 * kMiB);
    EXPECT_FALSE(Reserve(0, 50 * kMiB, Kind::kData));
    Kill(other);
    EXPECT_TRUE(Reserve(0, 50 * kMiB, Kind::kData));
    EXPECT_EQ(Used(0), 50 * kMiB);
  });
}

TEST_F(AccountingTest, WhatAKilledProcessHeldIsFoundWithoutNeed) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    Kill(StartHolding(30 * kMiB));
    while (Used(0) != 0) {
      EXPECT_TRUE(Reserve(0, kUnit, Kind::kData));
      Release(0, kUnit, Kind::kData);
    }
  });
}

TEST_F(AccountingTest, WhoHasBegunToEndHoldsWhatItHasUntilItEnded) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t pid = Start([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Reserve(0, 30 * kMiB, Kind::kData));
    Leave();
    EXPECT_EQ(write(ready[1], "", 1), 1);
    for (;;) pause();
  });
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(Shown().hami.slots[0].pid, 0);
  EXPECT_EQ(Shown().hami.slots[0].used[0].total, 0u);
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_FALSE(Reserve(0, 71 * kMiB, Kind::kData));
    kill(pid, SIGKILL);
    while (!Reserve(0, 71 * kMiB, Kind::kData)) std::this_thread::yield();
  });
  EXPECT_EQ(EndOf(pid), SIGKILL);
}

TEST_F(AccountingTest, WhatAProcessHeldThatEndedWellIsNotShownToHamisMonitor) {
  const pid_t pid = Start([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Reserve(0, 30 * kMiB, Kind::kData));
    exit(0);
  });
  EXPECT_EQ(EndOf(pid), 0);
  EXPECT_EQ(Shown().hami.slots[0].pid, 0);
  EXPECT_EQ(Shown().hami.slots[0].status, 0);
  EXPECT_EQ(Shown().hami.slots[0].used[0].total, 0u);
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_EQ(Used(0), 0u);
  });
}

TEST_F(AccountingTest, AProcessThatIsStoppedHoldsNobodyUp) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    const pid_t pid = Start([&] {
      JoinWith(limits_);
      for (;;) {
        Reserve(0, kMiB, Kind::kData);
        Release(0, kMiB, Kind::kData);
      }
    });
    for (int i = 0; i < 300; ++i) {
      int status = 0;
      EXPECT_EQ(kill(pid, SIGSTOP), 0);
      EXPECT_EQ(waitpid(pid, &status, WUNTRACED), pid);
      EXPECT_TRUE(Reserve(0, 60 * kMiB, Kind::kData));
      EXPECT_FALSE(Reserve(0, 60 * kMiB, Kind::kData));
      Release(0, 60 * kMiB, Kind::kData);
      EXPECT_LE(Used(0), kMiB);
      EXPECT_EQ(Total(), SumOfShares());
      kill(pid, SIGCONT);
    }
    Kill(pid);
  });
}

TEST_F(AccountingTest, AForkedChildHasASlotOfItsOwnAndNothingOfItsParents) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Reserve(0, 30 * kMiB, Kind::kData));
    EXPECT_EQ(OwnSlot(), 0);
    InProcess([&] {
      EXPECT_EQ(OwnSlot(), -1);
      Release(0, 30 * kMiB, Kind::kData);
      EXPECT_EQ(Total(), 30 * kMiB);
      EXPECT_TRUE(JoinWith(limits_));
      EXPECT_EQ(OwnSlot(), 1);
      Release(0, 30 * kMiB, Kind::kData);
      EXPECT_EQ(Used(0), 30 * kMiB);
      EXPECT_TRUE(Reserve(0, 10 * kMiB, Kind::kData));
    });
    EXPECT_EQ(ShareOfSlot(0), 30 * kMiB);
    EXPECT_EQ(ShareOfSlot(1), 10 * kMiB);
  });
}

TEST_F(AccountingTest, AChildMadeWithoutLibcKnowsThatItIsOne) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    const long pid = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (pid == 0) _exit(OwnSlot() == -1 ? 0 : 1);
    EXPECT_EQ(EndOf(static_cast<pid_t>(pid)), 0);
    EXPECT_EQ(OwnSlot(), 0);
  });
}

TEST_F(AccountingTest, AForkedChildDoesNotKeepItsDeadParentAlive) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t parent = Start([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Reserve(0, 90 * kMiB, Kind::kData));
    const pid_t child = Start([] {
      for (;;) pause();
    });
    EXPECT_EQ(write(ready[1], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
    for (;;) pause();
  });
  pid_t child = 0;
  ASSERT_EQ(read(ready[0], &child, sizeof(child)), static_cast<ssize_t>(sizeof(child)));
  Kill(parent);
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_EQ(Used(0), 0u);
  });
  kill(child, SIGKILL);
}

TEST_F(AccountingTest, AProcessThatClosesAllItsFilesIsAliveAllTheSame) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Reserve(0, 90 * kMiB, Kind::kData));
    for (int file = 3; file < 1024; ++file) close(file);
    InProcess([&] {
      EXPECT_TRUE(JoinWith(limits_));
      EXPECT_FALSE(Reserve(0, 50 * kMiB, Kind::kData));
      EXPECT_EQ(Used(0), 90 * kMiB);
    });
  });
}

TEST_F(AccountingTest, AContainerThatStartsAgainFindsItsOldRegionEmpty) {
  std::vector<pid_t> processes;
  for (int i = 0; i < 5; ++i) processes.push_back(StartHolding(10 * kMiB));
  for (const pid_t pid : processes) Kill(pid);
  EXPECT_EQ(Total(), 50 * kMiB);
  const pid_t first = StartHolding(kMiB);
  EXPECT_EQ(Total(), kMiB);
  EXPECT_EQ(ShareOfSlot(0), kMiB);
  EXPECT_EQ(SumOfShares(), kMiB);
  Kill(first);
}

TEST_F(AccountingTest, WithoutTheKernelsLocksAProcessIsKnownByItsIdAndWhenItStarted) {
  const pid_t living = StartHolding(20 * kMiB, true);
  const pid_t killed = StartHolding(40 * kMiB, true);
  Kill(killed);
  // An owner whose id another process has now: alive, but started at another time.
  Shown().accounting.slots[7].owner = static_cast<uint32_t>(getpid()) | uint64_t{12345} << 32;
  Shown().accounting.slots_used = 8;
  ASSERT_EQ(Move(&Shown().accounting, 0, 7, 10 * kMiB / kUnit, kMaxUnits), MoveResult::kDone);
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_, true));
    EXPECT_EQ(OwnSlot(), 1);
    EXPECT_EQ(Used(0), 20 * kMiB);
  });
  Kill(living);
}

TEST_F(AccountingTest, ASlotWithItsOwnNameIsOfTheProgramTheProcessWasBefore) {
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_, true));
    EXPECT_TRUE(Reserve(0, 40 * kMiB, Kind::kData));
    // As after exec: other memory, but the same id and start time.
    Region* const region = &Shown();
    Locks locks(region, OwnIdentity(), true);
    EXPECT_EQ(TakeSlot(region, OwnIdentity(), &locks), 0);
    EXPECT_EQ(Total(), 0u);
  });
}

TEST_F(AccountingTest, ProcessesThatStartAtOnceMakeOneRegionAndHaveASlotEach) {
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  int result[2];
  ASSERT_EQ(pipe(result), 0);
  std::vector<pid_t> processes;
  for (int i = 0; i < 16; ++i) {
    processes.push_back(Start([&] {
      close(gate[1]);
      char byte;
      EXPECT_EQ(read(gate[0], &byte, 1), 0);
      EXPECT_TRUE(JoinWith(limits_));
      EXPECT_TRUE(Reserve(0, kMiB, Kind::kData));
      const int slot = OwnSlot();
      EXPECT_EQ(write(result[1], &slot, sizeof(slot)), static_cast<ssize_t>(sizeof(slot)));
      for (;;) pause();
    }));
  }
  close(gate[1]);
  std::vector<int> taken(kMaxSlots);
  for (int i = 0; i < 16; ++i) {
    int slot = -1;
    ASSERT_EQ(read(result[0], &slot, sizeof(slot)), static_cast<ssize_t>(sizeof(slot)));
    EXPECT_EQ(taken.at(static_cast<size_t>(slot))++, 0);
  }
  EXPECT_EQ(Total(), 16 * kMiB);
  EXPECT_EQ(SumOfShares(), 16 * kMiB);
  for (const pid_t pid : processes) Kill(pid);
}

TEST_F(AccountingTest, ThreadsOfAProcessJoinOnce) {
  InProcess([&] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        EXPECT_TRUE(JoinWith(limits_));
        for (int round = 0; round < 10'000; ++round) {
          EXPECT_TRUE(Reserve(0, 3 * kUnit, Kind::kData));
          Release(0, 3 * kUnit, Kind::kData);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(Used(0), 0u);
    EXPECT_EQ(Shown().accounting.slots_used, 1u);
  });
}

TEST_F(AccountingTest, HamisMonitorSeesWhatEachProcessHolds) {
  const pid_t other = StartHolding(10 * kMiB);
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Reserve(0, 3 * kMiB, Kind::kData));
    EXPECT_TRUE(Reserve(0, 20 * kMiB, Kind::kContext));
    EXPECT_TRUE(Reserve(0, kMiB, Kind::kModule));
    const HamiSlot& own = Shown().hami.slots[1];
    EXPECT_EQ(own.pid, getpid());
    EXPECT_EQ(own.status, 1);
    EXPECT_EQ(own.used[0].context, 20 * kMiB);
    EXPECT_EQ(own.used[0].module, kMiB);
    EXPECT_EQ(own.used[0].data, 3 * kMiB);
    EXPECT_EQ(own.used[0].total, 24 * kMiB);
    Release(0, 20 * kMiB, Kind::kContext);
    EXPECT_EQ(own.used[0].context, 0u);
    EXPECT_EQ(own.used[0].total, 4 * kMiB);
  });
  EXPECT_EQ(Shown().hami.proc_num, 2);
  EXPECT_EQ(Shown().hami.device_num, 1u);
  EXPECT_STREQ(Shown().hami.uuids[0], "GPU-aa");
  EXPECT_EQ(Shown().hami.limit[0], 100 * kMiB);
  EXPECT_EQ(Shown().hami.slots[0].used[0].total, 10 * kMiB);
  Kill(other);
  InProcess([&] { EXPECT_TRUE(JoinWith(limits_)); });
  const HamiSlot zero{};
  EXPECT_EQ(std::memcmp(&Shown().hami.slots[1], &zero, sizeof(zero)), 0);
  EXPECT_EQ(Shown().hami.proc_num, 2);
}

TEST_F(AccountingTest, WithAFileTheRegionsWordsLimitNothing) {
  SetLimit(100 * kMiB, Source::kFile);
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    Shown().hami.limit[0] = 1000 * kMiB;
    EXPECT_EQ(Limit(0), 100 * kMiB);
    EXPECT_FALSE(Reserve(0, 101 * kMiB, Kind::kData));
  });
}

TEST_F(AccountingTest, MemoryThatTheDriverHoldsTheContainerToIsCountedAndShownAlone) {
  SetLimit(100 * kMiB, Source::kFile);
  limits_.memory_by_driver = true;
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_TRUE(Reserve(0, 101 * kMiB, Kind::kData));
    EXPECT_EQ(Used(0), 101 * kMiB);
    EXPECT_EQ(Limit(0), 100 * kMiB);
  });
  limits_.oversubscribe = true;
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_FALSE(Reserve(0, 101 * kMiB, Kind::kData))
        << "managed memory is not the driver's to hold";
  });
}

TEST_F(AccountingTest, TheRegionSaysNothingOfWhoHoldsMemory) {
  limits_.memory_by_driver = true;
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_FALSE(Reserve(0, 101 * kMiB, Kind::kData));
  });
}

TEST_F(AccountingTest, WithoutAFileAProcessTakesTheRegionsLimit) {
  const pid_t first = StartHolding(kMiB);
  SetLimit(1000 * kMiB);
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_EQ(Limit(0), 100 * kMiB);
  });
  Kill(first);
}

TEST_F(AccountingTest, DevicesThatNobodyNamedTakeThePlacesInTheOrderAsked) {
  limits_.devices[0].uuid[0] = '\0';
  limits_.count = 2;
  limits_.devices[1].bytes = 7 * kMiB;
  InProcess([&] {
    EXPECT_TRUE(JoinWith(limits_));
    EXPECT_EQ(DeviceOf("GPU-first"), 0);
    EXPECT_EQ(DeviceOf("GPU-second"), 1);
    EXPECT_EQ(DeviceOf("GPU-first"), 0);
    EXPECT_EQ(DeviceOf("GPU-third"), -1);
    EXPECT_EQ(Limit(1), 7 * kMiB);
  });
  EXPECT_STREQ(Shown().hami.uuids[1], "GPU-second");
  EXPECT_EQ(Shown().hami.device_num, 2u);
}

// There is room for sixteen devices. The build of the library or a file decides about one more.
TEST_F(AccountingTest, ADeviceThatThereIsNoPlaceForIsDeniedWhereThatIsThePolicy) {
  limits_.devices[0].uuid[0] = '\0';
  limits_.count = kMaxDevices;
  for (const bool closed : {false, true}) {
    limits_.closed = closed;
    InProcess([&] {
      EXPECT_TRUE(JoinWith(limits_));
      for (int i = 0; i < kMaxDevices; ++i) {
        EXPECT_EQ(DeviceOf(("GPU-" + std::to_string(i)).c_str()), i);
      }
      const int more = DeviceOf("GPU-more");
      EXPECT_EQ(more, closed ? kDeniedDevice : -1);
      EXPECT_EQ(Reserve(more, 1, Kind::kData), !closed);
    });
  }
}

TEST_F(AccountingTest, BrokenLimitsDenyMemory) {
  limits_.broken = true;
  InProcess([&] {
    EXPECT_FALSE(JoinWith(limits_));
    EXPECT_EQ(DeviceOf("GPU-aa"), 0);
    EXPECT_FALSE(Reserve(0, 1, Kind::kData));
  });
}

}  // namespace
}  // namespace tessera::limiter
