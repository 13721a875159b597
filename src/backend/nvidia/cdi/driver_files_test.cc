// SPDX-License-Identifier: Apache-2.0
#include "backend/nvidia/cdi/driver_files.h"

#include "backend/nvidia/cdi/driver_root_test.h"

namespace tessera::nvidia {
namespace {

using DriverFilesTest = DriverRootTest;

TEST_F(DriverFilesTest, AreProgramsConfigurationFirmwareAndSockets) {
  Install("570.1");
  Write("/usr/bin/nvidia-smi");
  Write("/usr/sbin/nvidia-persistenced");
  Link("/usr/bin/nvidia-debugdump", "gone");
  Write("/etc/OpenCL/vendors/nvidia.icd");
  Write("/usr/share/OpenCL/vendors/nvidia.icd");
  Write("/usr/share/vulkan/icd.d/nvidia_icd.json");
  Write("/lib/firmware/nvidia/570.1/gsp_ga10x.bin");
  Write("/lib/firmware/nvidia/550.1/gsp_ga10x.bin");
  Write("/run/nvidia-persistenced/socket");
  Link("/var/run", "../run");
  Write("/tmp/nvidia-mps/control");

  const DriverFiles files = FindDriverFiles(root_, tree_);

  EXPECT_EQ(files.libraries.version, "570.1");
  EXPECT_EQ(files.files,
            (std::vector<DriverFile>{
                {"/usr/bin/nvidia-smi", "/usr/bin/nvidia-smi"},
                {"/usr/sbin/nvidia-persistenced", "/usr/sbin/nvidia-persistenced"},
                {"/etc/OpenCL/vendors/nvidia.icd", "/etc/OpenCL/vendors/nvidia.icd"},
                {"/etc/vulkan/icd.d/nvidia_icd.json", "/usr/share/vulkan/icd.d/nvidia_icd.json"},
                {"/lib/firmware/nvidia/570.1/gsp_ga10x.bin",
                 "/lib/firmware/nvidia/570.1/gsp_ga10x.bin"}}));
  EXPECT_EQ(files.sockets, (std::vector<DriverFile>{{"/run/nvidia-persistenced/socket",
                                                     "/run/nvidia-persistenced/socket"},
                                                    {"/tmp/nvidia-mps", "/tmp/nvidia-mps"}}));
}

TEST_F(DriverFilesTest, FirmwareIsLookedForWhereTheKernelIsToldTo) {
  Install("570.1");
  Write("/lib/firmware/nvidia/570.1/gsp_ga10x.bin");
  Write("/opt/firmware/nvidia/570.1/gsp_tu10x.bin");
  Write("/sys/module/firmware_class/parameters/path", "/opt/firmware\n");
  EXPECT_EQ(FindDriverFiles(root_, tree_).files,
            (std::vector<DriverFile>{{"/opt/firmware/nvidia/570.1/gsp_tu10x.bin",
                                      "/opt/firmware/nvidia/570.1/gsp_tu10x.bin"}}));
}

}  // namespace
}  // namespace tessera::nvidia
