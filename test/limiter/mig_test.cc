// SPDX-License-Identifier: Apache-2.0
// What NVML reports in a container with MIG devices, of these and of their GPU.
#include <gtest/gtest.h>

#include <string>

#include "test/limiter/limit_under_test.h"

namespace tessera::limiter {
namespace {

constexpr char kGpu[] = "GPU-09ae689a-d28e-4f35-a48b-fe1116433805 ";
constexpr char kOther[] = "GPU-7e9e1243-5c36-41b9-a0e5-ab10dc41dba1 ";
constexpr char kFirstMig[] = "MIG-475ca09a-721e-4aa6-aad7-81a9e50bf40c ";   // 40448 MiB
constexpr char kSecondMig[] = "MIG-deb4d19a-92e9-45ef-aafe-27e3732b74ea ";  // 20096 MiB
constexpr char kThird[] = "MIG-1e9e2df9-661a-4e5d-adfe-666888b329db ";

class MigTest : public LimitTest {
 protected:
  MigTest() : LimitTest("8xh100-mig") {}
  void SetUp() override {
    if (!MayMount()) GTEST_SKIP() << "may not make a mount namespace";
  }
  // Output of the command while a process holds 6 x 104857600 bytes of the first MIG device.
  std::string Meanwhile(const std::string& limits, const std::string& command) {
    return Output(WithLimits(limits, Environment() + "CUDA_VISIBLE_DEVICES=" + kFirstMig +
                                         Program("open", 6, command)) +
                  " | grep -v '6 x'");
  }

  const std::string nvml_ = std::string(PROGRAMS) + "/limit_nvml ";
  const std::string two_ = std::string("device ") + kFirstMig + "memory=1073741824\n" + "device " +
                           kSecondMig + "memory=2147483648\n";
};

TEST_F(MigTest, OfTheGpuNvmlTellsTheSumOfThePartsThatTheContainerHas) {
  EXPECT_EQ(Meanwhile(two_, nvml_ + kGpu + kFirstMig + kSecondMig + kThird + kOther),
            "used 629145600, free 2592079872 of 3221225472; "
            "used 629145600, free 2592079872, reserved 0 of 3221225472\n"
            "used 629145600, free 444596224 of 1073741824; "
            "used 629145600, free 444596224, reserved 0 of 1073741824\n"
            "used 0, free 2147483648 of 2147483648; "
            "used 0, free 2147483648, reserved 0 of 2147483648\n"
            // Devices that are not the container's.
            "used 0, free 1 of 1; used 0, free 1, reserved 0 of 1\n"
            "used 0, free 1 of 1; used 0, free 1, reserved 0 of 1\n");
}

TEST_F(MigTest, APartWithoutALimitIsOfTheSumWhole) {
  EXPECT_EQ(Meanwhile(std::string("device ") + kFirstMig + "memory=1073741824\ndevice " +
                          kSecondMig + "\n",
                      nvml_ + kGpu + kSecondMig),
            "used 629145600, free 21516779520 of 22145925120; "
            "used 629145600, free 21516779520, reserved 0 of 22145925120\n"
            "used 0, free 21072183296 of 21072183296; "
            "used 0, free 20413677568, reserved 658505728 of 21072183296\n");
}

TEST_F(MigTest, OfTheGpuNvmlListsTheProcessesOfThePartsThatTheContainerHas) {
  const std::string listed =
      "ComputeRunningProcesses: 0 limit_bare=629145600\n"
      "ComputeRunningProcesses_v2: 0 limit_bare=629145600/2/0\n";
  const std::string program =
      "env TESSERA_FAKE_NVML_PROCESSES=4194305:1024 " + std::string(PROGRAMS) + "/limit_processes ";
  const std::string first = " | head -n 2";
  EXPECT_EQ(Meanwhile(two_, program + kGpu + first), listed);
  EXPECT_EQ(Meanwhile(two_, program + kFirstMig + first), listed);
  EXPECT_EQ(Meanwhile(two_, program + kSecondMig + first),
            "ComputeRunningProcesses: 0\nComputeRunningProcesses_v2: 0\n");
}

}  // namespace
}  // namespace tessera::limiter
