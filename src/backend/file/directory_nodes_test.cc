// SPDX-License-Identifier: Apache-2.0
#include "backend/file/directory_nodes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::file {
namespace {

using Names = std::vector<std::string>;

class DirectoryNodesTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = os::Root(os::MakeTemporaryDirectory("/tmp/directory_nodes_test").value());
    ASSERT_TRUE(os::MakeDirectories(root_.Path("/dev/snd")));
  }
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(root_.prefix())); }

  // 0:0 is the only device node that any user may make.
  void MakeNode(const std::string& path) {
    ASSERT_TRUE(os::MakeDirectories(root_.Path(path.substr(0, path.rfind('/')))));
    ASSERT_EQ(mknod(root_.Path(path).c_str(), S_IFCHR | 0600, 0), 0);
  }
  void Link(const std::string& path, const std::string& target) {
    ASSERT_TRUE(os::MakeDirectories(root_.Path(path.substr(0, path.rfind('/')))));
    ASSERT_EQ(symlink(target.c_str(), root_.Path(path).c_str()), 0);
  }
  // "NAME -> HOST", one each.
  Names Found(const std::string& directory) const {
    Names found;
    const auto below = NodesBelow(root_, directory);
    EXPECT_TRUE(below) << below.error().message;
    for (const auto& node : below.value_or(DirectoryNodes()).nodes) {
      found.push_back(node.name + " -> " + node.host);
    }
    return found;
  }
  std::string Refusal(const std::string& directory) const {
    const auto below = NodesBelow(root_, directory);
    return below ? "none" : below.error().message;
  }

  os::Root root_;
};

TEST_F(DirectoryNodesTest, AllNodesBelowAreFound) {
  MakeNode("/dev/bus/usb/001/004");
  MakeNode("/dev/bus/usb/002/001");
  ASSERT_TRUE(os::WriteFileAtomically(root_.Path("/dev/bus/usb/notes"), ""));

  EXPECT_EQ(Found("/dev/bus/usb"),
            (Names{"001/004 -> /dev/bus/usb/001/004", "002/001 -> /dev/bus/usb/002/001"}));
  EXPECT_EQ(NodesBelow(root_, "/dev/bus/usb")->directories,
            (Names{"/dev/bus/usb", "/dev/bus/usb/001", "/dev/bus/usb/002"}));
}

TEST_F(DirectoryNodesTest, LinksWithinTheDirectoryAreNames) {
  MakeNode("/dev/snd/controlC0");
  Link("/dev/snd/by-path/card", "../controlC0");

  EXPECT_EQ(Found("/dev/snd"),
            (Names{"by-path/card -> /dev/snd/controlC0", "controlC0 -> /dev/snd/controlC0"}));
}

TEST_F(DirectoryNodesTest, NoLinkIsFollowedOut) {
  MakeNode("/dev/sda");
  MakeNode("/dev/other/node");
  MakeNode("/dev/snd-too/node");
  Link("/dev/snd/disk", "../sda");
  Link("/dev/snd/null", "/dev/null");
  Link("/dev/snd/near", "../snd-too/node");
  Link("/dev/snd/directory", "../other");
  Link("/dev/snd/round", ".");
  Link("/dev/snd/nowhere", "missing");

  EXPECT_EQ(Found("/dev/snd"), Names{});
}

TEST_F(DirectoryNodesTest, TheDirectoryItselfMayBeALink) {
  MakeNode("/dev/snd/timer");
  Link("/dev/sound", "snd");

  EXPECT_EQ(Found("/dev/sound"), Names{"timer -> /dev/snd/timer"});
}

TEST_F(DirectoryNodesTest, TooManyNodesAreRefused) {
  for (size_t i = 0; i < kMaxDirectoryNodes; ++i) MakeNode("/dev/snd/" + std::to_string(i));
  EXPECT_EQ(Found("/dev/snd").size(), kMaxDirectoryNodes);

  MakeNode("/dev/snd/more");

  EXPECT_EQ(Refusal("/dev/snd"),
            "/dev/snd has more than 256 device nodes below it: name a directory with fewer");
}

TEST_F(DirectoryNodesTest, TooManyLevelsAreRefused) {
  MakeNode("/dev/snd/1/2/3/4/node");
  EXPECT_EQ(Found("/dev/snd"), Names{"1/2/3/4/node -> /dev/snd/1/2/3/4/node"});

  MakeNode("/dev/snd/1/2/3/4/5/node");

  EXPECT_EQ(Refusal("/dev/snd"),
            "/dev/snd has more than 4 levels of directories below it: /dev/snd/1/2/3/4/5");
}

TEST_F(DirectoryNodesTest, TheWholeOfDevIsRefused) {
  Link("/dev/all", ".");

  EXPECT_EQ(Refusal("/dev/"),
            "/dev/ has the device nodes of the whole node below it: name a directory in /dev");
  EXPECT_EQ(Refusal("/dev/all"),
            "/dev/all has the device nodes of the whole node below it: name a directory in /dev");
}

TEST_F(DirectoryNodesTest, AMissingDirectoryIsTold) {
  EXPECT_EQ(Refusal("/dev/none"), "cannot look into /dev/none: No such file or directory");
}

}  // namespace
}  // namespace tessera::file
