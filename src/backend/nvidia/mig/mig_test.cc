// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/mig/mig.h"

#include <gtest/gtest.h>

#include "nvml/nvidia_node.h"

namespace tessera::nvidia {
namespace {

constexpr uint64_t kH100Memory = uint64_t{81559} << 20;

nvml::DeviceAttributes Attributes(unsigned compute, unsigned slices, uint64_t memory_mib) {
  nvml::DeviceAttributes attributes{};
  attributes.compute_instance_slices = compute;
  attributes.gpu_instance_slices = slices;
  attributes.memory_mib = memory_mib;
  return attributes;
}

TEST(MigProfile, IsNamedByItsSlicesAndItsMemory) {
  EXPECT_EQ(ProfileName(Attributes(1, 1, 9984), kH100Memory, 0), "1g.10gb");
  EXPECT_EQ(ProfileName(Attributes(1, 1, 20096), kH100Memory, 9), "1g.20gb");
  EXPECT_EQ(ProfileName(Attributes(3, 3, 40448), kH100Memory, 2), "3g.40gb");
  EXPECT_EQ(ProfileName(Attributes(7, 7, 81152), kH100Memory, 4), "7g.80gb");
  EXPECT_EQ(ProfileName(Attributes(1, 1, 4864), uint64_t{40536} << 20, {}), "1g.5gb");
}

TEST(MigProfile, SaysWhereItHasLessComputeThanMemory) {
  EXPECT_EQ(ProfileName(Attributes(1, 2, 20096), kH100Memory, 1), "1c.2g.20gb");
}

TEST(MigProfile, SaysWhatElseItHas) {
  EXPECT_EQ(ProfileName(Attributes(1, 1, 9984), kH100Memory, 7), "1g.10gb+me");
  EXPECT_EQ(ProfileName(Attributes(1, 1, 9984), kH100Memory, 10), "1g.10gb+gfx");
  EXPECT_EQ(ProfileName(Attributes(1, 1, 9984), kH100Memory, 13), "1g.10gb-me");
  EXPECT_EQ(ProfileName(Attributes(1, 1, 9984), kH100Memory, 15), "1g.10gb+me.all");
}

TEST(MigCapabilities, AreFoundInTheDriversList) {
  const char kMinors[] =
      "config 1\nmonitor 2\ngpu0/gi1/access 3\ngpu0/gi1/ci0/access 4\ngpu0/gi1/ci1/access 5\n"
      "gpu0/gi11/access 30\ngpu0/gi11/ci0/access 31\n";
  EXPECT_EQ(
      CapabilityNodes(kMinors, 0, {.gpu_instance = 1, .compute_instance = 1}),
      (std::vector<std::string>{"/dev/nvidia-caps/nvidia-cap3", "/dev/nvidia-caps/nvidia-cap5"}));
  EXPECT_EQ(CapabilityNodes(kMinors, 1, {.gpu_instance = 1}), std::vector<std::string>());
}

class MigTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(directory_)); }
  nvml::Answer<Mig> Read(unsigned gpu) const {
    return ReadMig(*library_, library_->DeviceByIndex(gpu).value());
  }

  const std::string directory_ = os::MakeTemporaryDirectory("/tmp/mig_test").value();
  NvidiaNode node_{directory_, "8xh100-mig"};
  const nvml::LibraryPtr library_ =
      nvml::Library::Open(nvml::LibraryPaths(os::Root(directory_), "/")).value();
};

TEST_F(MigTest, AGpuThatIsNotInMigModeHasNoMigDevices) {
  EXPECT_EQ(Read(0), Mig());
}

TEST_F(MigTest, TheMigDevicesOfAGpuAreReadInNvmlsOrder) {
  const std::vector<nvml::MigInstance>& mig = node_.hardware().gpus[7].mig;

  EXPECT_EQ(Read(7), (Mig{.enabled = true,
                          .devices = {{mig[0].uuid, "3g.40gb", 2, 0, 0, mig[0].attributes},
                                      {mig[1].uuid, "2g.20gb", 3, 0, 1, mig[1].attributes},
                                      {mig[2].uuid, "1g.10gb", 9, 0, 2, mig[2].attributes},
                                      {mig[3].uuid, "1g.10gb", 10, 0, 3, mig[3].attributes}}}));
}

TEST_F(MigTest, AnAgentWithoutPrivilegesReadsThemWithoutAttributes) {
  node_.SetFaults("driver: {fail: {nvmlDeviceGetGpuInstanceById: 4}}");
  EXPECT_EQ(Read(7)->devices[2].profile, "1g.10gb");
}

TEST_F(MigTest, AnythingElseThatCannotBeReadIsAFailure) {
  for (const char* function :
       {"nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetUUID", "nvmlDeviceGetAttributes_v2",
        "nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetComputeInstanceId"}) {
    node_.SetFaults(fmt::format("driver: {{fail: {{{}: 999}}}}", function));
    EXPECT_EQ(Read(7), tl::unexpected(nvml::Failure{function, nvml::Return::kUnknown}));
  }
}

}  // namespace
}  // namespace tessera::nvidia
