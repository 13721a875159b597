// SPDX-License-Identifier: Apache-2.0
#include "limiter/limits/limits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "limiter/contract.h"

namespace tessera::limiter {
namespace {

std::map<std::string, std::string>* variables = nullptr;

class LimitsTest : public testing::Test {
 protected:
  LimitsTest() {
    std::string path = (std::filesystem::temp_directory_path() / "limits-XXXXXX").string();
    directory_ = mkdtemp(path.data());
    environment_["CUDA_DEVICE_MEMORY_SHARED_CACHE"] = (directory_ / "x.cache").string();
  }
  ~LimitsTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& lines) {
    std::ofstream(directory_ / "limits") << "tessera-limits 1\ndevice GPU-aa memory=4096\n"
                                         << lines;
  }

  Limits Find() {
    variables = &environment_;
    Limits limits;
    FindLimits((directory_ / "limits").c_str(),
               [](const char* name) -> const char* {
                 const auto found = variables->find(name);
                 return found == variables->end() ? nullptr : found->second.c_str();
               },
               &limits);
    return limits;
  }

  std::filesystem::path directory_;
  std::map<std::string, std::string> environment_;
};

TEST_F(LimitsTest, TheEnvironmentCannotChangeWhatTheFileLimits) {
  Write("");
  environment_["CUDA_DEVICE_MEMORY_LIMIT"] = "0";
  environment_["CUDA_DEVICE_SM_LIMIT"] = "1k";
  const Limits limits = Find();
  EXPECT_EQ(limits.source, Source::kFile);
  EXPECT_EQ(limits.count, 1);
  EXPECT_EQ(limits.devices[0].bytes, 4096u);
  EXPECT_FALSE(limits.broken);
}

TEST_F(LimitsTest, OfPolicyAndPriorityTheStricterCounts) {
  Write("policy=default\npriority=0\n");
  environment_["GPU_CORE_UTILIZATION_POLICY"] = "disable";
  EXPECT_EQ(Find().core_policy, CorePolicy::kDefault);
  environment_["GPU_CORE_UTILIZATION_POLICY"] = "force";
  environment_["CUDA_TASK_PRIORITY"] = "1";
  EXPECT_EQ(Find().core_policy, CorePolicy::kForce);
  EXPECT_EQ(Find().priority, 1);
  Write("policy=force\npriority=1\n");
  environment_["GPU_CORE_UTILIZATION_POLICY"] = "default";
  environment_["CUDA_TASK_PRIORITY"] = "0";
  EXPECT_EQ(Find().core_policy, CorePolicy::kForce);
  EXPECT_EQ(Find().priority, 1);
}

TEST_F(LimitsTest, AFreeCorePolicyIsTheEnvironmentsChoice) {
  Write("policy=force\npriority=1\ncore-policy=free\n");
  EXPECT_EQ(Find().core_policy, CorePolicy::kForce);
  environment_["GPU_CORE_UTILIZATION_POLICY"] = "disable";
  environment_["CUDA_TASK_PRIORITY"] = "0";
  EXPECT_EQ(Find().core_policy, CorePolicy::kDisable);
  EXPECT_EQ(Find().priority, 0);
}

TEST_F(LimitsTest, TheFileMayNameTheRegion) {
  Write("region=/run/tessera/vgpu/a.cache\n");
  EXPECT_STREQ(Find().region, "/run/tessera/vgpu/a.cache");
  Write("");
  EXPECT_EQ(Find().region, environment_["CUDA_DEVICE_MEMORY_SHARED_CACHE"]);
}

TEST_F(LimitsTest, ABrokenFileIsNotReplacedByTheEnvironment) {
  Write("policy=fast\n");
  environment_["CUDA_DEVICE_MEMORY_LIMIT"] = "1g";
  const Limits limits = Find();
  EXPECT_TRUE(limits.broken);
  EXPECT_EQ(limits.count, 0);
  EXPECT_STREQ(limits.reason, "line 3: policy is default, force or disable, not 'fast'");
}

TEST_F(LimitsTest, AFileThatDoesNotOpenIsBroken) {
  std::filesystem::create_symlink("elsewhere", directory_ / "limits");
  EXPECT_TRUE(Find().broken);
}

TEST_F(LimitsTest, WithoutAFileTheEnvironmentLimits) {
  environment_["CUDA_DEVICE_MEMORY_LIMIT"] = "1g";
  const Limits limits = Find();
  EXPECT_EQ(limits.source, Source::kEnvironment);
  EXPECT_EQ(limits.devices[15].bytes, 1u << 30);
}

TEST_F(LimitsTest, AProcessWithoutVariablesTakesWhatTheRegionSays) {
  EXPECT_EQ(Find().source, Source::kNone);
  const RegionDevice devices[] = {{"GPU-aa", 1 << 20, 30}};
  const auto region = std::make_unique<Region>();
  MakeRegion({.devices = devices,
              .count = 1,
              .core_policy = CorePolicy::kForce,
              .priority = 0,
              .oversubscribe = true},
             region.get());
  std::ofstream(directory_ / "x.cache", std::ios::binary)
      .write(reinterpret_cast<const char*>(region.get()), sizeof(Region));
  const Limits limits = Find();
  EXPECT_EQ(limits.source, Source::kRegion);
  ASSERT_EQ(limits.count, 1);
  EXPECT_STREQ(limits.devices[0].uuid, "GPU-aa");
  EXPECT_EQ(limits.devices[0].bytes, 1u << 20);
  EXPECT_EQ(limits.devices[0].cores, 30u);
  EXPECT_EQ(limits.core_policy, CorePolicy::kForce);
  EXPECT_EQ(limits.priority, 0);
  EXPECT_TRUE(limits.oversubscribe);
}

TEST_F(LimitsTest, WhatIsNoRegionLimitsNothing) {
  std::ofstream(directory_ / "x.cache") << "something else";
  EXPECT_EQ(Find().source, Source::kNone);
}

}  // namespace
}  // namespace tessera::limiter
