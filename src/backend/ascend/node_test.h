// SPDX-License-Identifier: Apache-2.0
// For tests: a directory for the files of a node with Ascend chips. It is in memory, as a disk
// takes seconds for them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ascend/node.h"
#include "os/files.h"

namespace tessera::ascend {

class NodeTest : public testing::Test {
 protected:
  ~NodeTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  void Write(const std::string& path, const std::string& text) const {
    WriteText(directory_ + path, text);
  }
  // The id of the chip with this physical number in the fixtures.
  static std::string Id(size_t chip) {
    return "42C711D4-20B03704-4A10C8D4-14CC040A-D210200" + std::string(1, "0123456789ABCDEF"[chip]);
  }

  const std::string directory_ =
      os::MakeTemporaryDirectory(os::Exists("/dev/shm") ? "/dev/shm/ascend" : "/tmp/ascend")
          .value();
  const os::Root root_{directory_};
};

}  // namespace tessera::ascend
