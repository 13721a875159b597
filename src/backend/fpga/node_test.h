// SPDX-License-Identifier: Apache-2.0
// For tests: a directory for the files of a node with FPGAs. It is in memory where it can be.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "backend/fpga/card.h"
#include "device/device.h"
#include "os/files.h"

namespace tessera::fpga {

class NodeTest : public testing::Test {
 protected:
  ~NodeTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  void Write(const std::string& path, const std::string& text) const {
    ASSERT_TRUE(os::ReplaceFile(directory_ + path, text));
  }
  void Remove(const std::string& path) const { ASSERT_TRUE(os::RemoveTree(directory_ + path)); }

  const std::string directory_ =
      os::MakeTemporaryDirectory(os::Exists("/dev/shm") ? "/dev/shm/fpga" : "/tmp/fpga").value();
  const os::Root root_{directory_};
};

// "/dev/dfl-port.0 rw", one each.
inline std::vector<std::string> NodesOf(const Card& card) {
  std::vector<std::string> nodes;
  for (const WantedNode& wanted : card.nodes) {
    EXPECT_EQ(wanted.node.host_path, wanted.node.container_path);
    nodes.push_back(wanted.node.host_path + " " + wanted.node.permissions);
  }
  return nodes;
}

// What is wrong with it; empty: nothing.
inline std::string TroubleOf(const Card& card) {
  return card.trouble ? card.trouble->message : "";
}

}  // namespace tessera::fpga
