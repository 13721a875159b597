// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/environment.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tessera::limiter {
namespace {

std::map<std::string, std::string>* said_variables = nullptr;

Environment Parse(std::map<std::string, std::string> said) {
  said_variables = &said;
  Environment environment;
  ParseEnvironment(
      [](const char* name) -> const char* {
        const auto found = said_variables->find(name);
        return found == said_variables->end() ? nullptr : found->second.c_str();
      },
      &environment);
  return environment;
}

std::string Size(const std::string& text) {
  uint64_t bytes = 0;
  const char* const trouble = ParseSize(Text(text.data(), text.size()), &bytes);
  return trouble == nullptr ? std::to_string(bytes) : trouble;
}

TEST(EnvironmentTest, SizesAreWrittenAsTheOriginalUnderstoodThem) {
  EXPECT_EQ(Size("0"), "0");
  EXPECT_EQ(Size("1073741824"), "1073741824");
  EXPECT_EQ(Size("1g"), "1073741824");
  EXPECT_EQ(Size("2048m"), "2147483648");
  EXPECT_EQ(Size("3K"), "3072");
  EXPECT_EQ(Size("0x10M"), "16777216");
  EXPECT_EQ(Size("010"), "8");
}

TEST(EnvironmentTest, WhatTheOriginalGuessedIsAnErrorWithAName) {
  const std::string ending = "a size ends in k, m or g at most, and has no fraction:";
  EXPECT_EQ(Size("1gb"), ending);
  EXPECT_EQ(Size("1Gi"), ending);
  EXPECT_EQ(Size("1.5g"), ending);
  EXPECT_EQ(Size("08"), ending);
  EXPECT_EQ(Size("1 g"), ending);
  EXPECT_EQ(Size("-1"), "not a size, such as 2048m:");
  EXPECT_EQ(Size("g"), "not a size, such as 2048m:");
  EXPECT_EQ(Size("99999999999999999999"), "larger than 32 TiB:");
  EXPECT_EQ(Size("18446744073709551617"), "larger than 32 TiB:");
  EXPECT_EQ(Size("32768g"), "larger than 32 TiB:");
  EXPECT_EQ(Size("32767g"), "35183298347008");
}

TEST(EnvironmentTest, ADevicesOwnLimitWinsOverThatOfAll) {
  const Environment environment = Parse({{"CUDA_DEVICE_MEMORY_LIMIT", "1g"},
                                         {"CUDA_DEVICE_MEMORY_LIMIT_1", "2048m"},
                                         {"CUDA_DEVICE_SM_LIMIT", "30"},
                                         {"CUDA_DEVICE_SM_LIMIT_2", "100"}});
  EXPECT_TRUE(environment.has_limits);
  EXPECT_FALSE(environment.limits.broken);
  EXPECT_EQ(environment.limits.count, 16);
  EXPECT_EQ(environment.limits.devices[0].bytes, 1u << 30);
  EXPECT_EQ(environment.limits.devices[1].bytes, 2u << 30);
  EXPECT_EQ(environment.limits.devices[0].cores, 30u);
  EXPECT_EQ(environment.limits.devices[2].cores, 0u);
}

TEST(EnvironmentTest, AMemoryLimitThatIsNotUnderstoodDeniesMemoryAndIsNamed) {
  const Environment environment =
      Parse({{"CUDA_DEVICE_MEMORY_LIMIT", "1g"}, {"CUDA_DEVICE_MEMORY_LIMIT_3", "1gb"}});
  EXPECT_TRUE(environment.limits.broken);
  EXPECT_STREQ(
      environment.limits.reason,
      "CUDA_DEVICE_MEMORY_LIMIT_3: a size ends in k, m or g at most, and has no fraction: '1gb'");
}

TEST(EnvironmentTest, WhatElseIsNotUnderstoodIsLeftOutAndNamed) {
  const Environment environment = Parse({{"CUDA_DEVICE_SM_LIMIT", "1k"}});
  EXPECT_FALSE(environment.has_limits);
  EXPECT_FALSE(environment.limits.broken);
  EXPECT_STREQ(environment.limits.warning, "CUDA_DEVICE_SM_LIMIT: takes a percentage, not '1k'");
  EXPECT_STREQ(Parse({{"GPU_CORE_UTILIZATION_POLICY", "FORCED"}}).limits.warning,
               "GPU_CORE_UTILIZATION_POLICY: takes default, force or disable, not 'FORCED'");
  EXPECT_STREQ(Parse({{"CUDA_TASK_PRIORITY", "high"}}).limits.warning,
               "CUDA_TASK_PRIORITY: takes a number from 0, not 'high'");
  EXPECT_STREQ(Parse({{"CUDA_DEVICE_MEMORY_SHARED_CACHE", "x.cache"}}).limits.warning,
               "CUDA_DEVICE_MEMORY_SHARED_CACHE: takes an absolute path, not 'x.cache'");
}

TEST(EnvironmentTest, WithoutVariablesNothingIsLimited) {
  const Environment environment = Parse({});
  EXPECT_FALSE(environment.has_limits);
  EXPECT_EQ(environment.limits.count, 0);
  EXPECT_EQ(environment.limits.priority, 1);
  EXPECT_STREQ(environment.limits.region, "/tmp/cudevshr.cache");
}

TEST(EnvironmentTest, PolicyPriorityAndPlacesAreRead) {
  const Environment environment =
      Parse({{"GPU_CORE_UTILIZATION_POLICY", "FORCE"},
             {"CUDA_TASK_PRIORITY", "0"},
             {"CUDA_DEVICE_MEMORY_SHARED_CACHE", "/usr/local/vgpu/a.cache"},
             {"LIBCUDA_LOG_LEVEL", "4"},
             {"CUDA_OVERSUBSCRIBE", "true"}});
  EXPECT_EQ(environment.limits.core_policy, CorePolicy::kForce);
  EXPECT_TRUE(environment.has_policy);
  EXPECT_EQ(environment.limits.priority, 0);
  EXPECT_TRUE(environment.has_priority);
  EXPECT_STREQ(environment.limits.region, "/usr/local/vgpu/a.cache");
  EXPECT_EQ(environment.limits.log_level, 4);
  EXPECT_TRUE(environment.limits.oversubscribe);
}

TEST(EnvironmentTest, DeviceNIsTheNthThatTheContainerWasGivenWhereTheyAreNamed) {
  const Environment named = Parse({{"CUDA_DEVICE_MEMORY_LIMIT_0", "1m"},
                                   {"CUDA_DEVICE_MEMORY_LIMIT_1", "2m"},
                                   {"NVIDIA_VISIBLE_DEVICES", "GPU-bb,GPU-aa"}});
  EXPECT_EQ(named.limits.count, 2);
  EXPECT_STREQ(named.limits.devices[0].uuid, "GPU-bb");
  EXPECT_STREQ(named.limits.devices[1].uuid, "GPU-aa");
  const Environment all =
      Parse({{"CUDA_DEVICE_MEMORY_LIMIT_0", "1m"}, {"NVIDIA_VISIBLE_DEVICES", "all"}});
  EXPECT_STREQ(all.limits.devices[0].uuid, "");
}

}  // namespace
}  // namespace tessera::limiter
