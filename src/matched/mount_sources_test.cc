// SPDX-License-Identifier: Apache-2.0
#include "matched/mount_sources.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

class MountSourcesTest : public testing::Test {
 protected:
  MountSourcesTest() {
    EXPECT_TRUE(os::MakeDirectories(directory_ + "/a", 0755));
    EXPECT_TRUE(os::ReplaceFile(directory_ + "/f", "a file", 0644));
  }
  ~MountSourcesTest() override { (void)os::RemoveTree(directory_); }
  // The refusal's text; empty: it can be mounted.
  std::string Trouble(const std::string& source, const std::string& place) const {
    Grant grant;
    grant.mounts = {{.host_path = source, .container_path = place}};
    const Status checked = CheckMountSources(os::Root(directory_), grant);
    return checked ? "" : checked.error().message;
  }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "mounts");
};

TEST_F(MountSourcesTest, TheLibrarysFilesAreFiles) {
  for (const char* place :
       {"/etc/ld.so.preload", "/usr/local/vgpu/libvgpu.so", "/tmp/license",
        "/usr/bin/vgpuvalidator", "/run/tessera/vgpu/limits", "/run/tessera/vgpu/no-limits"}) {
    EXPECT_EQ(Trouble("/f", place), "");
    EXPECT_EQ(Trouble("/a", place),
              std::string("/a must be mounted at ") + place + ", but is not a file");
    EXPECT_EQ(Trouble("/gone", place),
              std::string("/gone must be mounted at ") + place + ", but there is no file");
  }
}

TEST_F(MountSourcesTest, WhatContainersWriteInAreDirectories) {
  for (const char* place : {"/usr/local/vgpu", "/tmp/vgpulock", "/run/tessera/vgpu"}) {
    EXPECT_EQ(Trouble("/a", place), "");
    EXPECT_EQ(Trouble("/f", place),
              std::string("/f must be mounted at ") + place + ", but is not a directory");
  }
}

// Former agents had one directory for all containers, and kubelet keeps their answers.
TEST_F(MountSourcesTest, ALockThatIsGoneIsAnEmptyDirectoryThen) {
  EXPECT_EQ(Trouble("/gone", "/tmp/vgpulock"), "");
  EXPECT_EQ(Trouble("/gone", "/usr/local/vgpu"),
            "/gone must be mounted at /usr/local/vgpu, but there is no directory");
}

TEST_F(MountSourcesTest, WhatNamesADeviceToTheRuntimeIsADevice) {
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/dev/null", 0755));
  EXPECT_EQ(Trouble("/dev/null", "/var/run/x"),
            "/dev/null must be mounted at /var/run/x, but is not a device");
}

}  // namespace
}  // namespace tessera
