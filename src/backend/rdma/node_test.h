// SPDX-License-Identifier: Apache-2.0
// For tests: a directory for the files of a node with RDMA cards. It is in memory, as a disk takes
// seconds for them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "os/fd.h"
#include "os/files.h"

namespace tessera::rdma {

class NodeTest : public testing::Test {
 protected:
  ~NodeTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  void Write(const std::string& path, const std::string& text) const {
    ASSERT_TRUE(os::MakeDirectories(directory_ + path.substr(0, path.rfind('/'))));
    ASSERT_TRUE(os::ReplaceFile(directory_ + path, text));
  }

  // A file whose text never comes: its writer is there and says nothing.
  void Silence(const std::string& path) {
    const std::string file = directory_ + path;
    ASSERT_TRUE(os::RemoveFile(file));
    ASSERT_EQ(mkfifo(file.c_str(), 0644), 0);
    silent_.emplace_back(open(file.c_str(), O_RDWR | O_CLOEXEC));
  }

  const std::string directory_ =
      os::MakeTemporaryDirectory(os::Exists("/dev/shm") ? "/dev/shm/rdma" : "/tmp/rdma").value();
  const os::Root root_{directory_};

 private:
  std::vector<os::Fd> silent_;
};

}  // namespace tessera::rdma
