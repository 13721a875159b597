// SPDX-License-Identifier: Apache-2.0
#include "fraction/grant_region.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "backend/nvidia/fraction/limiter.h"
#include "grant/fraction.h"
#include "limiter/contract.h"

namespace tessera {
namespace {

constexpr char kOneGpu[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";

class GrantRegionTest : public testing::Test {
 protected:
  GrantRegionTest() { EXPECT_TRUE(os::MakeDirectories(directory_ + record_.directory, 0755)); }
  ~GrantRegionTest() override { (void)os::RemoveTree(directory_); }

  std::string Path() const { return directory_ + record_.directory + "/name.cache"; }
  std::string Make() {
    const Status made = MakeRegion(os::Root(directory_), fractions_, "name", record_);
    return made ? "" : made.error().message;
  }
  std::unique_ptr<limiter::Region> Read() const {
    const auto text = os::ReadFile(Path(), 1 << 30);
    if (!text || text->size() != sizeof(limiter::Region)) return nullptr;
    auto region = std::make_unique<limiter::Region>();
    std::memcpy(region.get(), text->data(), text->size());
    return region;
  }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "region");
  FractionRules fractions_{
      .enforcer = &nvidia::Limiter(),
      .directory = "/vgpu",
      .library = "/vgpu/libvgpu.so",
      .own_library = true,
      .tunables = {{"GPU_CORE_UTILIZATION_POLICY", "force"}, {"CUDA_TASK_PRIORITY", "0"}}};
  BindingRecord record_{.directory = "/vgpu/containers/a", .parts = {{kOneGpu, 2048, 30}}};
};

TEST_F(GrantRegionTest, HasTheContainersLimitsBeforeAnyOfItsProcesses) {
  EXPECT_EQ(Make(), "");

  const auto region = Read();
  ASSERT_NE(region, nullptr);
  const limiter::HamiRegion& hami = region->hami;
  EXPECT_EQ(hami.magic, limiter::kHamiMagic);
  EXPECT_EQ(hami.device_num, 1U);
  EXPECT_STREQ(hami.uuids[0], kOneGpu);
  EXPECT_EQ(hami.limit[0], uint64_t{2048} << 20);
  EXPECT_EQ(hami.sm_limit[0], 30U);
  EXPECT_EQ(hami.utilization_switch, 1);
  EXPECT_EQ(hami.priority, 0);
  EXPECT_EQ(hami.proc_num, 0);
  EXPECT_EQ(region->accounting.magic, limiter::kAccountingMagic);
  EXPECT_EQ(region->accounting.core_policy, limiter::CorePolicy::kForce);
  EXPECT_EQ(os::Inspect(Path())->mode & 0777U, 0666U);
  EXPECT_EQ(os::ListDirectory(directory_ + "/vgpu/containers"), std::vector<std::string>{"a"});
}

TEST_F(GrantRegionTest, OneThatIsThereIsTheContainers) {
  ASSERT_TRUE(os::ReplaceFile(Path(), "theirs", 0644));
  EXPECT_EQ(Make(), "");
  EXPECT_EQ(os::ReadFile(Path()).value(), "theirs");
}

TEST_F(GrantRegionTest, ALinkInItsPlaceLeadsNowhere) {
  ASSERT_TRUE(os::ReplaceLink(Path(), directory_ + "/elsewhere"));
  EXPECT_EQ(Make(), "");
  EXPECT_FALSE(os::Exists(directory_ + "/elsewhere"));
}

TEST_F(GrantRegionTest, AnotherLibraryMakesItsOwn) {
  fractions_.own_library = false;
  EXPECT_EQ(Make(), "");
  EXPECT_FALSE(os::Exists(Path()));
}

TEST_F(GrantRegionTest, WhereItCannotBeMadeTheContainerIsNotStarted) {
  ASSERT_TRUE(os::RemoveTree(directory_ + record_.directory));
  EXPECT_EQ(Make(), "cannot open the directory " + directory_ +
                        "/vgpu/containers/a: No such file or directory");
}

}  // namespace
}  // namespace tessera
