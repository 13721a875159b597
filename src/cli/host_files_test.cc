// SPDX-License-Identifier: Apache-2.0
#include "cli/host_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "os/files.h"

namespace tessera::cli {
namespace {

using State = HostFiles::State;

class HostFilesTest : public testing::Test {
 protected:
  HostFilesTest() {
    Write("/driver/usr/lib/libcuda.so.1");
    Write("/image/usr/lib/libc.so");
    EXPECT_TRUE(os::MakeDirectories(dir_ + "/driver/etc"));
  }
  ~HostFilesTest() override { (void)os::RemoveTree(dir_); }
  void Write(const std::string& path) {
    const std::string whole = dir_ + path;
    ASSERT_TRUE(os::MakeDirectories(whole.substr(0, whole.rfind('/'))));
    ASSERT_TRUE(os::ReplaceFile(whole, "x"));
  }

  const std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "host");
  // A pod into which the host's /usr is mounted, and no more.
  const HostFiles pod_{{{.seen = dir_ + "/driver", .host = ""}}, [this](const std::string& path) {
                         return path.starts_with(dir_ + "/driver/usr");
                       }};
};

TEST_F(HostFilesTest, WhatTheHostHasIsLookedForWhereItIsMounted) {
  const auto found = pod_.StateOf("/usr/lib/libcuda.so.1");
  EXPECT_EQ(found.state, State::kThere);
  EXPECT_EQ(found.path, dir_ + "/driver/usr/lib/libcuda.so.1");
}

TEST_F(HostFilesTest, WhatIsNotThereOfAMountIsMissing) {
  EXPECT_EQ(pod_.StateOf("/usr/lib/libnothing.so").state, State::kMissing);
}

// As another party's document may have it.
TEST_F(HostFilesTest, ANameThatIsNoPathIsNotSeen) {
  EXPECT_EQ(pod_.StateOf("nvidia-ctk").state, State::kUnseen);
}

TEST_F(HostFilesTest, WhatIsNotMountedIsNotSeen) {
  EXPECT_EQ(pod_.StateOf("/etc/vulkan.json").state, State::kUnseen);
  EXPECT_EQ(pod_.StateOf("/dev/nothing").state, State::kUnseen);
}

TEST_F(HostFilesTest, WhatThePodsOwnImageHasIsNotTheHosts) {
  EXPECT_EQ(pod_.StateOf(dir_ + "/image/usr/lib/libc.so").state, State::kUnseen);
}

TEST_F(HostFilesTest, ADeviceNodeThatThePodHasIsTheHosts) {
  EXPECT_EQ(pod_.StateOf("/dev/null").state, State::kThere);
}

TEST_F(HostFilesTest, ALinkOfTheHostsNeedNotLeadAnywhereHere) {
  ASSERT_EQ(symlink("/usr/lib/nowhere", (dir_ + "/driver/usr/lib/libx.so").c_str()), 0);
  EXPECT_EQ(pod_.StateOf("/usr/lib/libx.so").state, State::kThere);
}

TEST_F(HostFilesTest, OnTheHostAllIsSeen) {
  const HostFiles host;
  EXPECT_EQ(host.StateOf(dir_ + "/image/usr/lib/libc.so").state, State::kThere);
  EXPECT_EQ(host.StateOf("/nothing/at/all").state, State::kMissing);
  ASSERT_EQ(symlink("/nowhere", (dir_ + "/link").c_str()), 0);
  EXPECT_EQ(host.StateOf(dir_ + "/link").state, State::kMissing);
}

TEST_F(HostFilesTest, ATreeOfADriverContainerIsLookedAtByItsOwnPaths) {
  const HostFiles host({{.seen = dir_ + "/driver", .host = "/run/nvidia/driver"}});
  EXPECT_EQ(host.StateOf("/run/nvidia/driver/usr/lib/libcuda.so.1").state, State::kThere);
  EXPECT_EQ(host.StateOf("/run/nvidia/driver2/usr/lib/libcuda.so.1").state, State::kMissing);
}

}  // namespace
}  // namespace tessera::cli
