// SPDX-License-Identifier: Apache-2.0
#include "backend/file/glob.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tessera::file {
namespace {

using Paths = std::vector<std::string>;

class GlobTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = os::Root(os::MakeTemporaryDirectory("/tmp/glob_[test]").value());
  }
  void TearDown() override { EXPECT_TRUE(os::RemoveTree(root_.prefix())); }

  void Add(const std::string& path) {
    ASSERT_TRUE(os::MakeDirectories(root_.Path(path.substr(0, path.rfind('/')))));
    ASSERT_TRUE(os::WriteFileAtomically(root_.Path(path), ""));
  }
  Paths Found(const std::string& pattern) const { return Expand(root_, pattern).value(); }

  os::Root root_;
};

TEST_F(GlobTest, MatchesComeInNaturalOrder) {
  for (const char* name : {"/dev/ttyUSB10", "/dev/ttyUSB2", "/dev/ttyS0", "/dev/ttyUSB1"})
    Add(name);

  EXPECT_EQ(Found("/dev/ttyUSB*"), (Paths{"/dev/ttyUSB1", "/dev/ttyUSB2", "/dev/ttyUSB10"}));
}

TEST_F(GlobTest, EveryWildcardWorks) {
  for (const char* name : {"/dev/a1", "/dev/a2", "/dev/b1", "/dev/x*"}) Add(name);

  EXPECT_EQ(Found("/dev/?1"), (Paths{"/dev/a1", "/dev/b1"}));
  EXPECT_EQ(Found("/dev/[a]*"), (Paths{"/dev/a1", "/dev/a2"}));
  EXPECT_EQ(Found("/dev/x\\*"), (Paths{"/dev/x*"}));
}

TEST_F(GlobTest, WildcardsMatchDirectoriesToo) {
  for (const char* name : {"/dev/bus/usb/001/004", "/dev/bus/usb/002/001"}) Add(name);

  EXPECT_EQ(Found("/dev/bus/usb/*/*"), (Paths{"/dev/bus/usb/001/004", "/dev/bus/usb/002/001"}));
}

TEST_F(GlobTest, HiddenFilesAreNoMatch) {
  Add("/dev/.udev");

  EXPECT_EQ(Found("/dev/*"), Paths{});
}

TEST_F(GlobTest, APathWithoutWildcardsMatchesItself) {
  Add("/dev/kvm");

  EXPECT_EQ(Found("/dev/kvm"), Paths{"/dev/kvm"});
  EXPECT_EQ(Found("/dev/kvm2"), Paths{});
}

TEST_F(GlobTest, ADanglingLinkIsAMatch) {
  Add("/dev/a0");
  ASSERT_EQ(symlink("nowhere", root_.Path("/dev/a1").c_str()), 0);

  EXPECT_EQ(Found("/dev/a*"), (Paths{"/dev/a0", "/dev/a1"}));
  EXPECT_EQ(Found("/dev/a1"), Paths{"/dev/a1"});
}

TEST_F(GlobTest, AMissingDirectoryIsNoMatch) {
  EXPECT_EQ(Found("/dev/serial/by-id/*"), Paths{});
}

TEST_F(GlobTest, AFixedDirectoryThatCannotBeReadIsAnError) {
  Add("/dev");  // a file where a directory is expected: holds for root as well

  const auto found = Expand(root_, "/dev/ttyUSB*");

  ASSERT_FALSE(found);
  EXPECT_EQ(found.error(), (Error{Reason::kIo, "cannot look for /dev/ttyUSB*: cannot list " +
                                                   root_.Path("/dev") + ": Not a directory"}));
}

TEST_F(GlobTest, DirectoriesBelowWildcardsAreWatched) {
  for (const char* name : {"/a/1/b/x/f", "/a/2/b/y/f", "/a/3/f"}) Add(name);

  std::set<std::string> expected;
  for (const char* path :
       {"/a", "/a/1", "/a/2", "/a/3", "/a/1/b", "/a/2/b", "/a/1/b/x", "/a/2/b/y"}) {
    expected.insert(root_.Path(path));
  }
  EXPECT_EQ(WatchedDirectories(root_, "/a/*/b/*/f"), expected);
}

TEST_F(GlobTest, AMissingFixedDirectoryIsWatched) {
  EXPECT_EQ(WatchedDirectories(root_, "/dev/serial/by-id/*"),
            std::set<std::string>{root_.Path("/dev/serial/by-id")});
}

TEST(PatternTest, TheFixedDirectoryEndsBeforeTheFirstWildcard) {
  EXPECT_EQ(FixedDirectory("/dev/ttyUSB*"), "/dev");
  EXPECT_EQ(FixedDirectory("/dev/bus/usb/*/*"), "/dev/bus/usb");
  EXPECT_EQ(FixedDirectory("/dev/kvm"), "/dev");
  EXPECT_EQ(FixedDirectory("/*"), "/");
  EXPECT_EQ(FixedDirectory("/d*/kvm"), "/");
}

TEST(PatternTest, TheTextOfASingleStarIsKnown) {
  EXPECT_EQ(WildcardText("/dev/ttyUSB*", "/dev/ttyUSB12"), "12");
  EXPECT_EQ(WildcardText("/dev/ttyUSB*_ctl", "/dev/ttyUSB12_ctl"), "12");
  EXPECT_EQ(WildcardText("/sys/*/dev", "/sys/x/dev"), "x");
  EXPECT_EQ(WildcardText("/dev/a*", "/dev/a"), "");
}

TEST(PatternTest, OtherPatternsHaveNoText) {
  EXPECT_EQ(WildcardText("/dev/kvm", "/dev/kvm"), std::nullopt);
  EXPECT_EQ(WildcardText("/dev/*/*", "/dev/a/b"), std::nullopt);
  EXPECT_EQ(WildcardText("/dev/tty?", "/dev/tty1"), std::nullopt);
  EXPECT_EQ(WildcardText("/dev/[a]*", "/dev/ab"), std::nullopt);
  EXPECT_EQ(WildcardText("/dev/ttyUSB*", "/dev/ttyACM0"), std::nullopt);
  EXPECT_EQ(WildcardText("/dev/aba*aba", "/dev/aba"), std::nullopt);
  EXPECT_EQ(WildcardText("/dev/a*", "/dev/a/b"), std::nullopt);
}

}  // namespace
}  // namespace tessera::file
