// SPDX-License-Identifier: Apache-2.0
#include "mps/shm.h"

#include <gtest/gtest.h>

namespace tessera::mps {
namespace {

TEST(ShmTest, ItIsHalfOfTheMemoryInTheUnitThatIsThere) {
  EXPECT_EQ(ShmSize("MemTotal:       65881624 kB\nMemFree:         1 kB\n"), "size=32940812k");
  EXPECT_EQ(ShmSize("MemFree: 1 kB\nMemTotal: 8 MB\n"), "size=4M");
}

TEST(ShmTest, WithoutANumberItIsWhatADockerContainerHas) {
  EXPECT_EQ(ShmSize(""), "size=65536k");
  EXPECT_EQ(ShmSize("MemTotal: much\n"), "size=65536k");
}

}  // namespace
}  // namespace tessera::mps
