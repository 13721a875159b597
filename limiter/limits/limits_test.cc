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
#include "limiter/limits/environment.h"

namespace tessera::limiter {
namespace {

std::map<std::string, std::string>* variables = nullptr;

class LimitsTest : public testing::Test {
 protected:
  LimitsTest() {
    std::string path = (std::filesystem::temp_directory_path() / "limits-XXXXXX").string();
    directory_ = mkdtemp(path.data());
    unnamed_ = (directory_ / "unnamed.cache").string();
    environment_["CUDA_DEVICE_MEMORY_SHARED_CACHE"] = (directory_ / "x.cache").string();
  }
  ~LimitsTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& lines) {
    std::ofstream(directory_ / "limits") << "tessera-limits 1\ndevice GPU-aa memory=4096\n"
                                         << lines;
  }

  Limits Find() {
    variables = &environment_;
    Environment environment;
    Limits limits;
    const std::string file = directory_ / "limits", library = directory_ / "hook" / "";
    const std::string no_limits = directory_ / "no-limits";
    FindLimits({.file = file.c_str(),
                .variable = [](const char* name) -> const char* {
                  const auto found = variables->find(name);
                  return found == variables->end() ? nullptr : found->second.c_str();
                },
                .directory = library.c_str(),
                .no_limits = no_limits.c_str(),
                .region = unnamed_.c_str()},
               &environment, &limits);
    return limits;
  }

  // A region of another process, by default of 1 MiB on one device.
  void WriteRegion(const std::filesystem::path& path, uint64_t bytes = 1 << 20) {
    const RegionDevice devices[] = {{"GPU-aa", bytes, 30}};
    const auto region = std::make_unique<Region>();
    MakeRegion({.devices = devices,
                .count = 1,
                .core_policy = CorePolicy::kForce,
                .priority = 0,
                .oversubscribe = true},
               region.get());
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(region.get()), sizeof(Region));
  }
  // The library's directory, for a process without variables.
  std::filesystem::path Beside(const std::string& name) {
    environment_.clear();
    std::filesystem::create_directories(directory_ / "hook");
    return directory_ / "hook" / name;
  }

  std::filesystem::path directory_;
  std::string unnamed_;  // the region where no variable names one
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

TEST_F(LimitsTest, AProcessWithoutLimitsTakesThoseOfTheRegionThatItsVariableNames) {
  EXPECT_EQ(Find().source, Source::kNone);
  WriteRegion(directory_ / "x.cache");
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

TEST_F(LimitsTest, AProcessWithoutVariablesTakesThoseOfTheOnlyRegionBesideTheLibrary) {
  const std::filesystem::path path = Beside("a.cache");
  WriteRegion(path);
  std::ofstream(Beside("libvgpu.so")) << "the library";
  std::ofstream(Beside("a.cache.old")) << "no region by its name";
  const Limits limits = Find();
  EXPECT_EQ(limits.source, Source::kRegion);
  EXPECT_EQ(limits.region, path);
  ASSERT_EQ(limits.count, 1);
  EXPECT_EQ(limits.devices[0].bytes, 1u << 20);
  EXPECT_STREQ(limits.warning, "");
}

TEST_F(LimitsTest, OfSeveralRegionsBesideTheLibraryNoneIsTakenWhichIsSaid) {
  WriteRegion(Beside("a.cache"));
  WriteRegion(Beside("b.cache"));
  const Limits limits = Find();
  EXPECT_EQ(limits.source, Source::kNone);
  EXPECT_EQ(limits.count, 0);
  EXPECT_EQ(limits.warning,
            (directory_ / "hook/").string() + ": several regions (*.cache); none is used");
}

TEST_F(LimitsTest, ManyOtherFilesBesideTheLibraryHideNoRegion) {
  for (int i = 0; i < 500; ++i)
    std::ofstream(Beside("of some length, number " + std::to_string(i)));
  WriteRegion(Beside("a.cache"));
  EXPECT_EQ(Find().source, Source::kRegion);
  WriteRegion(Beside("b.cache"));
  EXPECT_EQ(Find().source, Source::kNone);
}

TEST_F(LimitsTest, TheRegionThatTheVariableNamesGoesBeforeTheOneBesideTheLibrary) {
  const auto environment = environment_;
  WriteRegion(Beside("a.cache"));
  environment_ = environment;
  EXPECT_EQ(Find().region, directory_ / "hook/a.cache") << "there is no other one";
  WriteRegion(directory_ / "x.cache", 2 << 20);
  EXPECT_EQ(Find().region, directory_ / "x.cache");
  EXPECT_EQ(Find().devices[0].bytes, 2u << 20);
}

TEST_F(LimitsTest, WhatIsNoRegionBesideTheLibraryIsNamedAndLimitsNothing) {
  std::ofstream(Beside("a.cache")) << "something else";
  EXPECT_EQ(Find().source, Source::kNone);
  EXPECT_EQ(Find().region, directory_ / "hook/a.cache");
  std::filesystem::remove(Beside("a.cache"));
  WriteRegion(directory_ / "elsewhere");
  std::filesystem::create_symlink("../elsewhere", Beside("a.cache"));
  EXPECT_EQ(Find().source, Source::kNone) << "a link is none";
}

TEST_F(LimitsTest, APathThatIsTooLongForARegionIsNotCutOff) {
  WriteRegion(Beside(std::string(240, 'a') + ".cache"));
  EXPECT_EQ(Find().source, Source::kNone);
  EXPECT_EQ(Find().region, unnamed_);
}

TEST_F(LimitsTest, ALibraryThatWasBuiltClosedTakesNoLimitsFileThatTheContainerCanWrite) {
  Write("");
  Environment environment;
  Limits limits;
  const std::string file = directory_ / "limits";
  FindLimits({.file = file.c_str(),
              .variable = [](const char*) -> const char* { return nullptr; },
              .no_limits = "/nowhere",
              .closed = true},
             &environment, &limits);
  EXPECT_TRUE(limits.broken);
  EXPECT_EQ(limits.reason, file + ": the limits file counts only on a read-only mount");
}

TEST_F(LimitsTest, LimitsOrNotTheFileSaysWhatItMeansToHaveNone) {
  EXPECT_FALSE(Find().closed);
  std::ofstream(directory_ / "no-limits") << "closed\n";
  EXPECT_TRUE(Find().closed);
  Write("");
  EXPECT_TRUE(Find().closed);
  Write("policy=fast\n");
  std::ofstream(directory_ / "no-limits") << "perhaps";
  EXPECT_STREQ(Find().reason, "line 3: policy is default, force or disable, not 'fast'");
}

}  // namespace
}  // namespace tessera::limiter
