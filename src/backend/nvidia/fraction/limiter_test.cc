// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/fraction/limiter.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "grant/fraction.h"

namespace tessera::nvidia {
namespace {

constexpr char kFirst[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a42";
constexpr char kSecond[] = "GPU-8a1f1d3c-5f0e-4a1b-9c55-0d2f6b1e7a43";

FractionRules Parts(int parts) {
  return {.directory = "/usr/local/vgpu", .library = "/opt/libvgpu.so", .parts = parts};
}

TEST(Limiter, TheLeastComputeTimeIsThatOfAllCards) {
  const std::vector<Fraction> parts = {{kFirst, 300, 60}, {kSecond, 400, 20}};
  EXPECT_EQ(Limiter().Envs(Parts(2), NewFractionGrant(Parts(2), "name", parts)),
            (std::map<std::string, std::string>{
                {"CUDA_DEVICE_MEMORY_LIMIT_0", "300m"},
                {"CUDA_DEVICE_MEMORY_LIMIT_1", "400m"},
                {"CUDA_DEVICE_MEMORY_SHARED_CACHE", "/usr/local/vgpu/name.cache"},
                {"CUDA_DEVICE_SM_LIMIT", "20"},
                {"CUDA_DEVICE_SM_LIMIT_0", "60"},
                {"CUDA_DEVICE_SM_LIMIT_1", "20"}}));
}

TEST(Limiter, SaysWhatTheLibraryIsToHoldTheContainerTo) {
  FractionRules vgpu = Parts(2);
  const FractionGrant grant =
      NewFractionGrant(vgpu, "name", {{kFirst, 300, 60}, {kSecond, 400, 0}});
  EXPECT_EQ(Limiter().LimitsText(vgpu, grant), fmt::format("tessera-limits 1\n"
                                                           "device {} memory=314572800 cores=60\n"
                                                           "device {} memory=419430400 cores=0\n"
                                                           "policy=default\n"
                                                           "priority=1\n"
                                                           "oversubscribe=no\n"
                                                           "core-policy=fixed\n"
                                                           "region=/usr/local/vgpu/name.cache\n",
                                                           kFirst, kSecond));

  vgpu.tunables = {{"GPU_CORE_UTILIZATION_POLICY", "force"}, {"CUDA_TASK_PRIORITY", "0"}};
  vgpu.tunables_fixed = false;
  vgpu.memory_scaling = 2;
  vgpu.memory_by_driver = true;
  EXPECT_EQ(Limiter().LimitsText(vgpu, NewFractionGrant(vgpu, "name", {})),
            "tessera-limits 1\npolicy=force\npriority=0\noversubscribe=yes\nmemory-by=driver\n"
            "core-policy=free\n"
            "region=/usr/local/vgpu/name.cache\n");
}

TEST(Limiter, TheLimitsAreOutsideOfWhatTheContainerWrites) {
  const FractionRules vgpu = Parts(2);
  const std::vector<Mount> mounts = Limiter().Mounts(vgpu, NewFractionGrant(vgpu, "name", {}));
  EXPECT_EQ(mounts,
            (std::vector<Mount>{
                {"/usr/local/vgpu/containers/name", "/usr/local/vgpu", false},
                {"/usr/local/vgpu/locks/name", "/tmp/vgpulock", false},
                {"/opt/libvgpu.so", "/usr/local/vgpu/libvgpu.so", true},
                {"/usr/local/vgpu/limits/name", "/run/tessera/vgpu", true},
                {"/usr/local/vgpu/limits/name/limits", "/run/tessera/vgpu/limits", true},
                {"/usr/local/vgpu/limits/name/no-limits", "/run/tessera/vgpu/no-limits", true},
                {"/usr/local/vgpu/ld.so.preload", "/etc/ld.so.preload", true}}));
  EXPECT_EQ(LimitsFileOf(vgpu, "name"), mounts[4].host_path);
}

TEST(Limiter, TesserasLibraryHasNoLockAndNothingElseForContainersToMeetIn) {
  FractionRules vgpu = Parts(2);
  vgpu.own_library = true;
  std::vector<Mount> written = Limiter().Mounts(vgpu, NewFractionGrant(vgpu, "name", {}));
  std::erase_if(written, [](const Mount& mount) { return mount.read_only; });
  EXPECT_EQ(written,
            (std::vector<Mount>{{"/usr/local/vgpu/containers/name", "/usr/local/vgpu", false}}));
}

// A running grant keeps its library, and what that needs.
TEST(Limiter, ALibraryOfBeforeHasWhatItWants) {
  FractionRules vgpu = Parts(2);
  vgpu.own_library = true;
  FractionGrant grant = NewFractionGrant(vgpu, "name", {});
  grant.library = "/usr/local/vgpu/libvgpu.so.v2.10.0";
  grant.locked = true;
  grant.has_no_limits = false;
  std::vector<std::string> places;
  for (const Mount& mount : Limiter().Mounts(vgpu, grant)) places.push_back(mount.container_path);
  EXPECT_EQ(places, (std::vector<std::string>{"/usr/local/vgpu", "/tmp/vgpulock",
                                              "/usr/local/vgpu/libvgpu.so", "/run/tessera/vgpu",
                                              "/run/tessera/vgpu/limits", "/etc/ld.so.preload"}));
}

TEST(Limiter, WithoutEnforcementTheLibraryIsNotAmongThem) {
  FractionRules vgpu = Parts(2);
  vgpu.enforced = false;
  EXPECT_EQ(Limiter().Mounts(vgpu, NewFractionGrant(vgpu, "name", {})),
            (std::vector<Mount>{{"/usr/local/vgpu/containers/name", "/usr/local/vgpu", false},
                                {"/usr/local/vgpu/locks/name", "/tmp/vgpulock", false}}));
}

TEST(Limiter, ALicenceComesWithWhatLooksAtIt) {
  FractionRules vgpu = Parts(2);
  vgpu.enforced = false;
  FractionGrant grant = NewFractionGrant(vgpu, "name", {});
  grant.licensed = true;
  const std::vector<Mount> mounts = Limiter().Mounts(vgpu, grant);
  ASSERT_EQ(mounts.size(), 4U);
  EXPECT_EQ(mounts[2], (Mount{"/usr/local/vgpu/license", "/tmp/license"}));
  EXPECT_EQ(mounts[3], (Mount{"/usr/local/vgpu/vgpuvalidator", "/usr/bin/vgpuvalidator"}));
}

}  // namespace
}  // namespace tessera::nvidia
