// SPDX-License-Identifier: Apache-2.0
// Kills while a process counts, joins and leaves.
#include <filesystem>
#include <random>
#include <vector>

#include "limiter/accounting/kill_test.h"

namespace tessera::limiter {
namespace {

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
  EXPECT_EQ(Verdict(), 'y') << "d: denied, x: not exact, w: waited";
}

}  // namespace
}  // namespace tessera::limiter
