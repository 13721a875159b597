// SPDX-License-Identifier: Apache-2.0
// Kills processes of a container with SIGKILL, at the instructions of libvgpu.so and at random. A
// step of tools/test runs it with the library that ships.
//
// TESSERA_KILLS sets the seconds of each test; the default is 2. With 0 a test runs until every
// instruction was hit, and fails if one cannot be hit. With 1 the storm has half the rounds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "test/limiter/limit_under_test.h"

namespace tessera::limiter {
namespace {

class KillsTest : public LimitTest {
 protected:
  // late-ms=0: the fake driver frees a dead process's memory at once, so that it can be compared.
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
