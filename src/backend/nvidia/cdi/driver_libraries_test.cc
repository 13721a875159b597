// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/cdi/driver_libraries.h"

#include "backend/nvidia/cdi/driver_root_test.h"
#include "nvml/ld_cache.h"

namespace tessera::nvidia {
namespace {

using DriverLibrariesTest = DriverRootTest;

DriverFile FoundAt(const std::string& path) {
  return {path, path};
}

TEST_F(DriverLibrariesTest, WithoutADriverThereIsNothing) {
  Write("/usr/lib64/libc.so.6");
  Write("/usr/lib64/libnvidia-ml.so.1");
  EXPECT_EQ(FindLibraries(tree_), DriverLibraries());
}

TEST_F(DriverLibrariesTest, AreThoseOfTheVersionWithTheLinksThatLeadToThem) {
  Install("570.172.08");
  Write("/usr/lib64/libc.so.6");
  Write("/usr/lib64/libnvidia-glcore.so.570.172.08");
  Write("/usr/lib64/libnvidia-glcore.so.550.1");
  Write("/usr/lib64/libnvidia-egl-gbm.so.1.1.2");
  Link("/usr/lib64/libnvidia-egl-gbm.so.1", "libnvidia-egl-gbm.so.1.1.2");
  Write("/usr/lib64/vdpau/libvdpau_nvidia.so.570.172.08");
  Write("/usr/lib64/xorg/modules/drivers/nvidia_drv.so");
  const DriverLibraries expected = {
      .version = "570.172.08",
      .directories = {"/usr/lib64"},
      .files = {FoundAt("/usr/lib64/libcuda.so.570.172.08"),
                FoundAt("/usr/lib64/libnvidia-glcore.so.570.172.08"),
                FoundAt("/usr/lib64/libnvidia-ml.so.570.172.08"),
                FoundAt("/usr/lib64/vdpau/libvdpau_nvidia.so.570.172.08"),
                FoundAt("/usr/lib64/libnvidia-egl-gbm.so.1.1.2"),
                FoundAt("/usr/lib64/xorg/modules/drivers/nvidia_drv.so")},
      .links = {
          {"/usr/lib64/libcuda.so", "libcuda.so.1", "/usr/lib64/libcuda.so.570.172.08"},
          {"/usr/lib64/libcuda.so.1", "libcuda.so.570.172.08", "/usr/lib64/libcuda.so.570.172.08"},
          {"/usr/lib64/libnvidia-egl-gbm.so.1", "libnvidia-egl-gbm.so.1.1.2",
           "/usr/lib64/libnvidia-egl-gbm.so.1.1.2"},
          {"/usr/lib64/libnvidia-ml.so.1", "libnvidia-ml.so.570.172.08",
           "/usr/lib64/libnvidia-ml.so.570.172.08"}}};
  EXPECT_EQ(FindLibraries(tree_), expected);
}

TEST_F(DriverLibrariesTest, AreFoundWhereTheLoadersCacheSays) {
  Write("/opt/nvidia/lib/libcuda.so.570.1");
  EXPECT_EQ(FindLibraries(tree_).version, "");
  Write("/etc/ld.so.cache", MakeLdCache({{"libcuda.so.1", "/opt/nvidia/lib/libcuda.so.1"}}));
  EXPECT_EQ(FindLibraries(tree_).directories, std::vector<std::string>{"/opt/nvidia/lib"});
}

TEST_F(DriverLibrariesTest, AreFoundWhereDebianHasThemBehindItsAlternatives) {
  const std::string directory = "/usr/lib/x86_64-linux-gnu/nvidia/current";
  Write(directory + "/libcuda.so.570.1");
  Write(directory + "/libnvidia-ptxjitcompiler.so.570.1");
  Link(directory + "/libcuda.so.1", "libcuda.so.570.1");
  Link("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/etc/alternatives/glx--libcuda.so.1");
  Link("/etc/alternatives/glx--libcuda.so.1", directory + "/libcuda.so.1");
  const DriverLibraries libraries = FindLibraries(tree_);
  EXPECT_EQ(libraries.directories, std::vector<std::string>{directory});
  EXPECT_EQ(libraries.files,
            (std::vector<DriverFile>{FoundAt(directory + "/libcuda.so.570.1"),
                                     FoundAt(directory + "/libnvidia-ptxjitcompiler.so.570.1")}));
}

TEST_F(DriverLibrariesTest, LinksMeanTheRootOfTheDriver) {
  Write("/usr/lib/nvidia/current/libcuda.so.570.1");
  Link("/usr/lib64/libcuda.so.1", "/etc/alternatives/libcuda");
  Link("/etc/alternatives/libcuda", "/usr/lib/nvidia/current/libcuda.so.570.1");
  Link("/usr/lib64/libcuda.so.570.1", "/usr/lib/nvidia/current/libcuda.so.570.1");
  const DriverLibraries libraries = FindLibraries(tree_);
  EXPECT_EQ(libraries.version, "570.1");
  const std::string real = "/usr/lib/nvidia/current/libcuda.so.570.1";
  EXPECT_EQ(libraries.files,
            (std::vector<DriverFile>{{"/usr/lib64/libcuda.so.570.1", real}, FoundAt(real)}));
}

TEST_F(DriverLibrariesTest, TheVersionIsTheOneThatTheLoaderTakes) {
  Install("550.1");
  Install("570.1");
  EXPECT_EQ(FindLibraries(tree_).version, "570.1");
  Link("/usr/lib64/libcuda.so.1", "libcuda.so.550.1");
  EXPECT_EQ(FindLibraries(tree_).version, "550.1");
}

}  // namespace
}  // namespace tessera::nvidia
