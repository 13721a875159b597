// SPDX-License-Identifier: Apache-2.0
// With NVML in the process: test/limiter/escapes_test.cc.
#include "limiter/memory/nvml_order.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tessera::limiter {
namespace {

TEST(NvmlOrderTest, WithoutNvmlNothingIsNamedAndErrnoStays) {
  errno = 77;
  {
    const OpenedNvml nvml;
    EXPECT_FALSE(nvml);
    EXPECT_FALSE(NameInOrderOfNvml());
  }
  EXPECT_EQ(errno, 77);
}

}  // namespace
}  // namespace tessera::limiter
