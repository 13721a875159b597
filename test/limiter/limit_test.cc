// SPDX-License-Identifier: Apache-2.0
// The built libvgpu.so in programs on a fake node with one GPU of 15 GiB. The limit holds in
// whichever way a program finds the driver's functions, and every answer shows the limit.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "test/limiter/limit_under_test.h"

namespace tessera::limiter {
namespace {

class WayTest : public LimitTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(WayTest, TheLimitHoldsAndIsTold) {
  EXPECT_EQ(Output(Environment() + kLimit + Program(GetParam())), kGranted);
}

INSTANTIATE_TEST_SUITE_P(EveryWay, WayTest,
                         ::testing::Values("linked", "default", "next", "self", "open", "proc"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(LimitTest, WithoutTheLimiterThereIsTheWholeDevice) {
  EXPECT_EQ(Output(Environment("") + kLimit + Program("linked")),
            "100 x 104857600, then 0; free 5620367360 of 16106127360; device 16106127360\n");
}

TEST_F(LimitTest, WithoutALimitThereIsTheWholeDevice) {
  EXPECT_EQ(Output(Environment() + Program("proc")),
            "100 x 104857600, then 0; free 5620367360 of 16106127360; device 16106127360\n");
}

TEST_F(LimitTest, AFirstContextIsCountedThoughTheProgramLoadsNoNvml) {
  EXPECT_EQ(Output(Environment() + "TESSERA_FAKE_CUDA_OPTIONS=context-mib=200 " + kLimit +
                   Program("proc")),
            "8 x 104857600, then 2; free 25165824 of 1073741824; device 1073741824\n");
}

TEST_F(LimitTest, TheProcessesOfAContainerShareTheLimit) {
  const std::string second = std::string(PROGRAMS) + "/limit_linked linked 104857600 9 true";
  // The first program prints its own line last.
  EXPECT_EQ(Output(Environment() + kLimit + Program("proc", 6, second) + " | head -n 1"),
            "4 x 104857600, then 2; free 25165824 of 1073741824; device 1073741824\n");
}

TEST_F(LimitTest, WhatAProcessHeldIsThereForTheNext) {
  const std::string command = Environment() + kLimit + Program("open") + "; ";
  EXPECT_EQ(Output(command + command), std::string(kGranted) + kGranted);
}

TEST_F(LimitTest, NvmlTellsTheSameAsCuda) {
  const std::string nvml = std::string(PROGRAMS) + "/limit_nvml";
  const std::string whole =
      "used 0, free 16106127360 of 16106127360; "
      "used 0, free 15602810880, reserved 503316480 of 16106127360\n";
  EXPECT_EQ(Output(Environment("") + nvml), whole);
  EXPECT_EQ(Output(Environment() + nvml), whole) << "without a limit";
  EXPECT_EQ(Output(Environment() + kLimit + nvml),
            "used 0, free 1073741824 of 1073741824; "
            "used 0, free 1073741824, reserved 0 of 1073741824\n");
  // Another process holds some of the memory.
  EXPECT_EQ(Output(Environment() + kLimit + Program("proc", 6, nvml) + " | head -n 1"),
            "used 629145600, free 444596224 of 1073741824; "
            "used 629145600, free 444596224, reserved 0 of 1073741824\n");
}

TEST_F(LimitTest, NvmlAnswersWhoeverHasNoPlaceForTheAnswerAsTheDriverDoes) {
  const std::string nvml = std::string(PROGRAMS) + "/limit_nvml null";
  EXPECT_EQ(Output(Environment("") + nvml), "nowhere 2, 2; no device 2\n");
  EXPECT_EQ(Output(Environment() + kLimit + nvml), "nowhere 2, 2; no device 2\n");
}

TEST_F(LimitTest, TheLimitsFileIsStrongerThanTheEnvironment) {
  if (!MayMount()) GTEST_SKIP() << "may not make a mount namespace";
  const std::string limits = std::string("device ") + kUuid + " memory=1073741824\n";
  const std::string command = Environment() + " CUDA_DEVICE_MEMORY_LIMIT_0=8g " + Program("open");
  EXPECT_EQ(Output(WithLimits(limits, command)), kGranted);
}

// On a runtime without CDI a pod's own variables override those of the grant.
TEST_F(LimitTest, WhateverAPodsOwnVariablesSayTheLimitsFileHolds) {
  if (!MayMount()) GTEST_SKIP() << "may not make a mount namespace";
  const std::string region = node_.directory() + "/granted.cache";
  const std::string limits =
      std::string("device ") + kUuid + " memory=1073741824\nregion=" + region + "\n";
  const std::string own =
      "CUDA_DEVICE_MEMORY_LIMIT=0 CUDA_DEVICE_MEMORY_LIMIT_0=8g CUDA_OVERSUBSCRIBE=true "
      "CUDA_DISABLE_CONTROL=true GPU_CORE_UTILIZATION_POLICY=disable "
      "NVIDIA_VISIBLE_DEVICES=GPU-00000000-0000-0000-0000-000000000000 ";
  EXPECT_EQ(Output(WithLimits(limits, Environment() + own + Program("open"))), kGranted);
  EXPECT_TRUE(std::filesystem::exists(region));
  EXPECT_FALSE(std::filesystem::exists(node_.directory() + "/vgpu.cache")) << "its own region";
}

// The fake driver holds no limit, so it gives all that is asked for.
TEST_F(LimitTest, WhereTheDriverHoldsTheLimitTheShareIsOnlyShown) {
  if (!MayMount()) GTEST_SKIP() << "may not make a mount namespace";
  const std::string limits =
      std::string("device ") + kUuid + " memory=1073741824\nmemory-by=driver\n";
  EXPECT_EQ(Output(WithLimits(limits, Environment() + Program("open", 20))),
            "20 x 104857600, then 0; free 0 of 1073741824; device 1073741824\n");
}

TEST_F(LimitTest, AThreadWithASmallStackMayMakeTheFirstCallsAndKeepsItsErrno) {
  const std::string threads = std::string(PROGRAMS) + "/limit_small_thread";
  EXPECT_EQ(Output(Environment() + kLimit +
                   "CUDA_DEVICE_SM_LIMIT=10 GPU_CORE_UTILIZATION_POLICY=force " + threads),
            "errno 77 77 77 77 77, 10 pieces\n");
  if (!MayMount()) GTEST_SKIP() << "no mount namespace of one's own here";
  EXPECT_EQ(Output(WithLimits("device " + std::string(kUuid) + " memory=1073741824 cores=10\n",
                              Environment() + threads)),
            "errno 77 77 77 77 77, 10 pieces\n");
}

}  // namespace
}  // namespace tessera::limiter
