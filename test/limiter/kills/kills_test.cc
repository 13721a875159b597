// SPDX-License-Identifier: Apache-2.0
// Processes of a container that are killed with SIGKILL at the instructions of libvgpu.so, the
// built one or, in a step of tools/test, the one that ships, and at random. TESSERA_KILLS: for how
// many seconds each of these runs; 0: until there is no instruction left at which nobody was
// killed, or one that nobody can be killed at, which fails. With 1 there are half as many kills at
// random.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "test/limiter/limit_under_test.h"

namespace tessera::limiter {
namespace {

class KillsTest : public LimitTest {
 protected:
  // The driver gives the memory of the dead back with them, so that it can be compared at once.
  std::string Run(const std::string& what, int number) const {
    return Output(Environment() +
                  "TESSERA_FAKE_CUDA_OPTIONS=context-mib=0,late-ms=0 "
                  "CUDA_DEVICE_MEMORY_LIMIT_0=256m CUDA_DEVICE_SM_LIMIT_0=50 "
                  "GPU_CORE_UTILIZATION_POLICY=force " PROGRAMS "/limit_kills " +
                  what + " " + std::to_string(number));
  }
  static int Seconds() {
    const char* const seconds = getenv("TESSERA_KILLS");
    return seconds != nullptr ? atoi(seconds) : 2;
  }
  std::string KilledIn(const std::string& operation) const { return Run(operation, Seconds()); }
};

constexpr char kExact[] = "all exact\n";

TEST_F(KillsTest, AtAnyInstructionOfJoining) {
  EXPECT_EQ(KilledIn("join"), kExact);
}

TEST_F(KillsTest, AtAnyInstructionOfALargeAllocationAndItsFree) {
  EXPECT_EQ(KilledIn("large"), kExact);
}

TEST_F(KillsTest, AtAnyInstructionOfSmallBlocks) {
  EXPECT_EQ(KilledIn("small"), kExact);
}

TEST_F(KillsTest, AtAnyInstructionOfVirtualMemory) {
  EXPECT_EQ(KilledIn("virtual"), kExact);
}

TEST_F(KillsTest, AtAnyInstructionOfAPool) {
  EXPECT_EQ(KilledIn("pool"), kExact);
}

TEST_F(KillsTest, AtAnyInstructionOfLaunches) {
  EXPECT_EQ(KilledIn("launch"), kExact);
}

TEST_F(KillsTest, AtAnyInstructionOfAFork) {
  EXPECT_EQ(KilledIn("fork"), kExact);
}

TEST_F(KillsTest, AChildAtAnyInstructionWhileItsParentLivesOn) {
  EXPECT_EQ(KilledIn("child"), kExact);
  EXPECT_EQ(KilledIn("first-child"), kExact);
}

TEST_F(KillsTest, AtAnyInstructionOfAnExecAndOfWhatIsExecuted) {
  EXPECT_EQ(KilledIn("exec"), kExact);
}

TEST_F(KillsTest, AtAnyInstructionOfLeaving) {
  EXPECT_EQ(KilledIn("leave"), kExact);
}

TEST_F(KillsTest, ManyTimesAtRandomAmongEightProcesses) {
  EXPECT_EQ(Run("storm", Seconds() == 1 ? 500 : 1'000), kExact);
}

}  // namespace
}  // namespace tessera::limiter
