// SPDX-License-Identifier: Apache-2.0
// The built libvgpu.so in processes of a container that start at the same time.
#include <gtest/gtest.h>

#include <string>

#include "test/limiter/limit_under_test.h"

namespace tessera::limiter {
namespace {

using BeginTest = LimitTest;

TEST_F(BeginTest, OfProcessesThatBeginAtOnceNoneWaitsForAnother) {
  const std::string command = Environment() + kLimit + PROGRAMS "/limit_begin 64";
  EXPECT_EQ(Output(command), "64 have memory, 0 waits\n") << "which make the region";
  EXPECT_EQ(Output(command), "64 have memory, 0 waits\n") << "which find it, with the dead in it";
}

}  // namespace
}  // namespace tessera::limiter
