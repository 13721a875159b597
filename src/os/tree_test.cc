// SPDX-License-Identifier: Apache-2.0
#include "os/tree.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "os/fd.h"
#include "os/files.h"
#include "os/rights_test.h"

namespace tessera::os {
namespace {

constexpr uid_t kStranger = 12345;

class TreeTest : public testing::Test {
 protected:
  TreeTest() { EXPECT_TRUE(MakeDirectories(tree_, 0777)); }
  ~TreeTest() override { (void)RemoveTree(dir_); }

  std::string In(const std::string& name) const { return tree_ + "/" + name; }
  void MakeDirectory(const std::string& name) { ASSERT_TRUE(MakeDirectories(In(name), 0755)); }
  void MakeFile(const std::string& name, size_t size = 1) {
    ASSERT_TRUE(ReplaceFile(In(name), std::string(size, 'x')));
  }
  void SetMode(const std::string& name, mode_t mode) {
    ASSERT_EQ(chmod(In(name).c_str(), mode), 0);
  }
  // As a container's user does; false: this user may not.
  bool GiveAway(const std::string& name) {
    return lchown(In(name).c_str(), kStranger, kStranger) == 0;
  }
  // As root with these capabilities; empty: it is gone.
  std::string RemoveWith(std::initializer_list<int> capabilities) {
    std::string said;
    const bool is_root = RunAsRootWith(capabilities, [&] {
      const Status removed = RemoveTree(tree_);
      said = removed
                 ? ""
                 : std::string(ReasonName(removed.error().reason)) + ": " + removed.error().message;
    });
    if (!is_root) return "not root";
    const size_t at = said.find(tree_);
    if (at != std::string::npos) said.replace(at, tree_.size(), "TREE");
    EXPECT_EQ(Exists(tree_), !said.empty());
    return said;
  }
  std::vector<std::string> Left() const {
    return ListDirectory(tree_).value_or(std::vector<std::string>());
  }

  const std::string dir_ = *MakeTemporaryDirectory(testing::TempDir() + "tree");
  const std::string tree_ = dir_ + "/tree";
};

#define SKIP_UNLESS_ROOT() \
  if (geteuid() != 0) GTEST_SKIP() << "another user's files can be made by root alone"

TEST_F(TreeTest, OneDeeperThanThereAreDescriptorsIsRemoved) {
  ASSERT_TRUE(ReplaceFile(dir_ + "/outside", "stays"));
  ASSERT_TRUE(ReplaceLink(In("link"), dir_ + "/outside"));
  MakeDirectory(".moved-up-0");
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  Fd deepest(open(tree_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < 300; ++depth) {
    ASSERT_EQ(mkdirat(deepest.get(), "d", 0755), 0);
    ASSERT_EQ(symlinkat("..", deepest.get(), "up"), 0);
    deepest = Fd(openat(deepest.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  const rlimit few{100, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);

  const Status removed = RemoveTree(tree_);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(Exists(tree_));
  EXPECT_TRUE(Exists(dir_ + "/outside"));
}

TEST_F(TreeTest, ModesThatItsOwnerTookAwayKeepNothing) {
  MakeDirectory("a/b/c");
  MakeFile("a/b/c/file");
  MakeFile("a/b/file");
  for (const char* name : {"a/b/c", "a/b", "a", ""}) SetMode(name, 0);

  if (geteuid() != 0) {
    EXPECT_TRUE(RemoveTree(tree_));
    EXPECT_FALSE(Exists(tree_));
  } else {
    EXPECT_EQ(RemoveWith({}), "");
  }
}

TEST_F(TreeTest, ADirectoryThatMayBeReadAndNotWrittenKeepsNothing) {
  MakeDirectory("a/b");
  MakeFile("a/b/file");
  SetMode("a/b", 0555);
  SetMode("a", 0555);
  SetMode("", 0555);
  if (geteuid() != 0) {
    EXPECT_TRUE(RemoveTree(tree_));
  } else {
    EXPECT_EQ(RemoveWith({}), "");
  }
}

TEST_F(TreeTest, DirectoriesOfOtherUsersAreRemovedByTheOneRightForThat) {
  SKIP_UNLESS_ROOT();
  MakeDirectory("a/private/deeper");
  MakeFile("a/private/deeper/file");
  MakeDirectory("sticky");
  MakeFile("sticky/file");
  for (const char* name : {"a/private/deeper/file", "a/private/deeper", "a/private", "a",
                           "sticky/file", "sticky", ""}) {
    if (!GiveAway(name)) GTEST_SKIP() << "this root may give no file away";
  }
  for (const char* name : {"a/private/deeper", "a/private", ""}) SetMode(name, 0700);
  SetMode("a", 0);
  SetMode("sticky", 01777);

  EXPECT_EQ(RemoveWith({}), "permission: cannot open TREE: Permission denied");
  EXPECT_EQ(RemoveWith({CAP_FOWNER}), "");
}

TEST_F(TreeTest, AnotherUsersModesAndAccessListsKeepNothingFromBeingEmptied) {
  SKIP_UNLESS_ROOT();
  for (const bool by_list : {true, false}) {
    MakeDirectory("a");
    MakeFile("a/file");
    if (!GiveAway("a") || !GiveAway("")) GTEST_SKIP() << "this root may give no file away";
    SetMode("", by_list ? 0777 : 0555);
    SetMode("a", by_list ? 0777 : 0555);
    if (by_list && (!DenyToRoot(In("a")) || !DenyToRoot(tree_))) continue;

    std::string said;
    RunAsRootWith({}, [&] {
      said = OpenDirectory(tree_, 0777).valid() ? "opened" : std::string(strerror(errno));
    });
    EXPECT_EQ(said, by_list ? "Permission denied" : "opened");
    RunAsRootWith({CAP_FOWNER}, [&] {
      EXPECT_TRUE(OpenDirectory(tree_, 0777).valid());
      EXPECT_TRUE(EmptyDirectory(tree_, {}, Steady::max()));
    });
    EXPECT_EQ(Left(), std::vector<std::string>());
    EXPECT_EQ(Inspect(tree_).value().mode, 0777U);
  }
}

TEST_F(TreeTest, WhatCannotBeRemovedStaysAloneAndItsTrueErrorIsTold) {
  SKIP_UNLESS_ROOT();
  for (const char* name : {"a", "z"}) MakeFile(name);
  MakeDirectory("private");
  MakeFile("private/file");
  MakeDirectory("own/beside");
  MakeFile("own/beside/file");
  if (!GiveAway("private")) GTEST_SKIP() << "this root may give no file away";
  SetMode("private", 0700);

  EXPECT_EQ(RemoveWith({}), "permission: cannot open TREE/private: Permission denied");
  EXPECT_EQ(Left(), std::vector<std::string>{"private"});
}

TEST_F(TreeTest, MoreThanCanBeRemovedHoldsNobodyUpForEver) {
  SKIP_UNLESS_ROOT();
  MakeDirectory("sticky");
  for (int i = 0; i < 1500; ++i) MakeFile(fmt::format("sticky/{}", i));
  for (int i = 0; i < 1500; ++i) {
    if (!GiveAway(fmt::format("sticky/{}", i))) GTEST_SKIP() << "this root may give no file away";
  }
  ASSERT_TRUE(GiveAway("sticky"));
  SetMode("sticky", 01777);
  MakeFile("other");

  const std::string said = RemoveWith({});
  EXPECT_TRUE(said.starts_with("permission: cannot remove TREE/sticky/")) << said;
  EXPECT_TRUE(said.ends_with(": Operation not permitted")) << said;
  EXPECT_EQ(Left(), std::vector<std::string>{"sticky"});
}

TEST_F(TreeTest, AllButTheNamesThatAreKeptGoes) {
  MakeFile("region");
  MakeFile("other");
  MakeDirectory("a/region");
  MakeFile("a/region/region");
  EXPECT_TRUE(EmptyDirectory(tree_, {"region"}, Steady::max()));
  EXPECT_EQ(Left(), std::vector<std::string>{"region"});
}

TEST_F(TreeTest, EmptyingEndsInTime) {
  MakeFile("a");
  const Status emptied = EmptyDirectory(tree_, {}, SystemClock().Now());
  ASSERT_FALSE(emptied);
  EXPECT_EQ(emptied.error(), (Error{Reason::kTimedOut, tree_ + " takes too long to be emptied"}));
}

TEST_F(TreeTest, ItsSizeIsWhatItTakesOfTheDisk) {
  MakeFile("a", 100'000);
  MakeDirectory("b");
  MakeFile("b/c", 100'000);
  MakeFile("sparse");
  ASSERT_EQ(truncate(In("sparse").c_str(), off_t{1} << 40), 0);
  ASSERT_TRUE(ReplaceLink(In("link"), "/"));

  const TreeSize size = MeasureTree(tree_, {});
  EXPECT_TRUE(size.whole);
  EXPECT_EQ(size.entries, 5U);
  EXPECT_GE(size.bytes, 200'000U);
  EXPECT_LT(size.bytes, 1'000'000U);
}

TEST_F(TreeTest, WhatItsOwnNamesTakeIsApart) {
  for (int i = 0; i < 2'000; ++i) MakeFile(fmt::format("{:0>200}", i), 0);
  struct stat info{};
  ASSERT_EQ(stat(tree_.c_str(), &info), 0);
  const TreeSize size = MeasureTree(tree_, {});
  EXPECT_EQ(size.own, static_cast<uint64_t>(info.st_blocks) * 512);
  EXPECT_EQ(size.bytes, 0U);
}

TEST_F(TreeTest, NoMoreOfItIsLookedAtThanTheBoundsSay) {
  const auto said = [&](const TreeBounds& bounds) {
    const TreeSize size = MeasureTree(tree_, bounds);
    return size.whole ? "" : size.whole.error().message;
  };
  MakeDirectory("1/2/3");
  for (int i = 0; i < 20; ++i) MakeFile(fmt::format("1/{}.file", i));

  EXPECT_EQ(said({.entries = 23, .depth = 3}), "");
  EXPECT_EQ(said({.entries = 22, .depth = 3}), "it has more than 22 files");
  EXPECT_EQ(said({.depth = 2}), "its directories are nested deeper than 2");
  EXPECT_EQ(said({.until = SystemClock().Now()}), "it takes too long to measure");
}

TEST_F(TreeTest, ADirectoryThatMayNotBeLookedIntoIsTold) {
  MakeDirectory("a");
  SetMode("a", 0);
  std::string said;
  const auto look = [&] {
    const TreeSize size = MeasureTree(tree_, {});
    said = size.whole ? "" : size.whole.error().message;
  };
  if (!RunAsRootWith({}, look)) look();
  EXPECT_EQ(said, "cannot open a directory in it: Permission denied");
}

}  // namespace
}  // namespace tessera::os
