// SPDX-License-Identifier: Apache-2.0
// A driver's root for tests: files below a temporary directory, which ends with the object. One
// thread.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "backend/nvidia/cdi/driver_libraries.h"
#include "os/files.h"

namespace tessera::nvidia {

class DriverRootTest : public testing::Test {
 protected:
  ~DriverRootTest() override { EXPECT_TRUE(os::RemoveTree(root_.prefix())); }

  void Write(const std::string& path, const std::string& content = "") {
    ASSERT_TRUE(os::MakeDirectories(root_.Path(path.substr(0, path.rfind('/'))), 0755));
    ASSERT_TRUE(os::WriteFileAtomically(root_.Path(path), content));
  }
  void Link(const std::string& path, const std::string& target) {
    ASSERT_TRUE(os::MakeDirectories(root_.Path(path.substr(0, path.rfind('/'))), 0755));
    ASSERT_TRUE(os::RemoveFile(root_.Path(path)));
    ASSERT_EQ(symlink(target.c_str(), root_.Path(path).c_str()), 0);
  }
  // Two libraries, with the links that packages have.
  void Install(const std::string& version) {
    const std::string directory = "/usr/lib64/";
    for (const std::string name : {"libcuda.so", "libnvidia-ml.so"}) {
      Write(directory + name + "." + version);
      Link(directory + name + ".1", name + "." + version);
    }
    Link(directory + "libcuda.so", "libcuda.so.1");
  }

  const os::Root root_{os::MakeTemporaryDirectory("/tmp/driver_root").value()};
  const Tree tree_{.seen = root_.prefix(), .host = "/run/driver"};
};

}  // namespace tessera::nvidia
