// SPDX-License-Identifier: Apache-2.0
// With a driver in the process: test/limiter/ways/ways_test.cc.
#include "limiter/driver/driver.h"

#include <gtest/gtest.h>

namespace tessera::limiter {
namespace {

TEST(DriverTest, WithoutADriverEveryFunctionAnswersAsADriverThatWasNotInitialised) {
  CUdeviceptr address = 1;
  EXPECT_EQ(TheDriver().cuMemAlloc_v2(&address, 1), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(TheDriver().cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(TheDriver().cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(address, 1);
}

TEST(DriverTest, AnAddressOfAnotherLibraryIsNotTakenForTheDrivers) {
  EXPECT_FALSE(TakeDriver(reinterpret_cast<void*>(&abort)));
  EXPECT_FALSE(TakeDriver(nullptr));
  EXPECT_EQ(FunctionAt(reinterpret_cast<void*>(&abort)), Function::kNone);
}

// The hooks in this program have the names of a driver's functions, and are no driver.
TEST(DriverTest, TheLimiterIsNoDriver) {
  EXPECT_FALSE(AnyDriverHas("cuGetProcAddress"));
  EXPECT_FALSE(TakeDriver(reinterpret_cast<void*>(&::cuGetProcAddress)));
}

}  // namespace
}  // namespace tessera::limiter
