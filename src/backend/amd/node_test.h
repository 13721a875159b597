// SPDX-License-Identifier: Apache-2.0
// For tests: a directory for the files of a node with AMD GPUs. It is in memory, as a disk takes
// seconds for them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "os/files.h"

namespace tessera::amd {

class NodeTest : public testing::Test {
 protected:
  ~NodeTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  // Makes the directory empty.
  void Renew() const {
    ASSERT_TRUE(os::RemoveTree(directory_));
    ASSERT_TRUE(os::MakeDirectories(directory_));
  }
  void Write(const std::string& path, const std::string& text) const {
    ASSERT_TRUE(os::ReplaceFile(directory_ + path, text));
  }

  const std::string directory_ =
      os::MakeTemporaryDirectory(os::Exists("/dev/shm") ? "/dev/shm/amd" : "/tmp/amd").value();
  const os::Root root_{directory_};
};

}  // namespace tessera::amd
