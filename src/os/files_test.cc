// SPDX-License-Identifier: Apache-2.0
#include "os/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <thread>

namespace tessera::os {
namespace {

class FilesTest : public testing::Test {
 protected:
  ~FilesTest() override { (void)RemoveTree(dir_); }
  std::string dir_ = *MakeTemporaryDirectory(testing::TempDir() + "files");
};

TEST_F(FilesTest, WhatIsWrittenCanBeRead) {
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/a", "first"));
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/a", "second"));

  EXPECT_EQ(*ReadFile(dir_ + "/a"), "second");
}

TEST_F(FilesTest, APreparedFileIsReadOnceItIsPutInItsPlaceAndElseGone) {
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/a", "before"));
  {
    auto a = PreparedFile::Write(dir_ + "/a", "after", 0640).value();
    const auto b = PreparedFile::Write(dir_ + "/b", "never").value();
    EXPECT_EQ(*ReadFile(dir_ + "/a"), "before");
    ASSERT_TRUE(a.Put());
  }
  EXPECT_EQ(*ReadFile(dir_ + "/a"), "after");
  EXPECT_EQ(Inspect(dir_ + "/a")->mode, 0640u);
  EXPECT_EQ(*ListDirectory(dir_), std::vector<std::string>{"a"});
}

TEST_F(FilesTest, ThreadsThatReplaceTheSameFileAtOnceAllSucceed) {
  std::atomic<int> failed = 0;
  std::latch all_there(8);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        all_there.arrive_and_wait();
        for (int time = 0; time < 500; ++time) {
          if (!ReplaceFile(dir_ + "/a", "text")) ++failed;
        }
      });
    }
  }
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(*ListDirectory(dir_), std::vector<std::string>{"a"});
}

TEST_F(FilesTest, AMountIsToldFromADirectory) {
  ASSERT_TRUE(MakeDirectories(dir_ + "/a"));

  EXPECT_TRUE(OnSameMount(dir_, dir_ + "/a"));
  EXPECT_FALSE(OnSameMount("/", "/proc"));
  EXPECT_FALSE(OnSameMount("/", dir_ + "/nothing"));
}

TEST_F(FilesTest, AWriteLeavesNoTemporaryFile) {
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/a", "text"));

  EXPECT_EQ(*ListDirectory(dir_), std::vector<std::string>{"a"});
}

TEST_F(FilesTest, AWrittenFileHasTheModeAskedForWhateverTheUmask) {
  mode_t before = umask(0);
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/a", "text", 0640));
  umask(before);

  EXPECT_EQ(Inspect(dir_ + "/a")->mode, 0640u);
}

TEST_F(FilesTest, APlantedSymbolicLinkIsNotWrittenThrough) {
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/victim", "precious"));
  ASSERT_EQ(symlink((dir_ + "/victim").c_str(), (dir_ + "/a").c_str()), 0);

  Status status = WriteFileAtomically(dir_ + "/a", "text");

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, dir_ + "/a is not a regular file and is not replaced");
  EXPECT_EQ(*ReadFile(dir_ + "/victim"), "precious");
}

TEST_F(FilesTest, AMissingFileIsNotFound) {
  auto text = ReadFile(dir_ + "/none");

  ASSERT_FALSE(text);
  EXPECT_EQ(text.error(),
            (Error{Reason::kNotFound, "cannot open " + dir_ + "/none: No such file or directory"}));
}

TEST_F(FilesTest, APipeIsRefusedWithoutWaitingForAWriter) {
  ASSERT_EQ(mkfifo((dir_ + "/pipe").c_str(), 0600), 0);

  auto text = ReadFile(dir_ + "/pipe");

  ASSERT_FALSE(text);
  EXPECT_EQ(text.error(), (Error{Reason::kIo, dir_ + "/pipe is not a regular file"}));
}

TEST_F(FilesTest, NoMoreIsReadThanWasAskedFor) {
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/a", std::string(100'000, 'x')));

  EXPECT_EQ(*ReadFile(dir_ + "/a", 20'000), std::string(20'000, 'x'));
}

TEST_F(FilesTest, DirectoriesAreMadeWithTheirParents) {
  ASSERT_TRUE(MakeDirectories(dir_ + "/x/y/z"));
  ASSERT_TRUE(MakeDirectories(dir_ + "/x/y/z"));

  EXPECT_EQ(Inspect(dir_ + "/x/y/z")->type, FileInfo::Type::kDirectory);
}

TEST_F(FilesTest, AFileInTheWayOfADirectoryIsAnError) {
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/x", ""));

  EXPECT_FALSE(MakeDirectories(dir_ + "/x"));
}

TEST_F(FilesTest, AReplacedFileLooksDifferent) {
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/a", "same"));
  FileInfo before = *Inspect(dir_ + "/a");
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/a", "same"));

  EXPECT_NE(*Inspect(dir_ + "/a"), before);
}

TEST_F(FilesTest, ALinkTakesThePlaceOfWhateverWasThere) {
  ASSERT_TRUE(ReplaceLink(dir_ + "/link", "a").has_value());
  EXPECT_EQ(ReadLink(dir_ + "/link"), "a");

  ASSERT_TRUE(ReplaceLink(dir_ + "/link", "b").has_value());
  EXPECT_EQ(ReadLink(dir_ + "/link"), "b");
  EXPECT_EQ(ListDirectory(dir_), std::vector<std::string>{"link"});
  EXPECT_EQ(ReadLink(dir_ + "/none").error().reason, Reason::kNotFound);
}

TEST(RootTest, AnAbsolutePathIsLookedUpBelowThePrefix) {
  Root root("/tmp/tree");

  EXPECT_EQ(root.Path("/sys/bus"), "/tmp/tree/sys/bus");
  EXPECT_EQ(root.WithoutPrefix("/tmp/tree/dev/tty0"), "/dev/tty0");
}

TEST_F(FilesTest, LinksBelowARootLeadWhereTheyDoForWhoLivesInIt) {
  const std::string lib = dir_ + "/usr/lib";
  ASSERT_TRUE(MakeDirectories(lib + "/nvidia"));
  const auto link = [&](const std::string& target, const std::string& name) {
    ASSERT_EQ(symlink(target.c_str(), (lib + "/" + name).c_str()), 0);
  };
  link("/etc/alternatives/../../usr/lib/nvidia/real.so", "absolute.so");
  link("nvidia/real.so", "relative.so");
  link("../../../../../../usr/lib/absolute.so", "beyond.so");
  link("/usr/lib/round.so", "round.so");

  const std::string real = lib + "/nvidia/real.so";
  EXPECT_EQ(FollowBelow(dir_, lib + "/absolute.so"), real);
  EXPECT_EQ(FollowBelow(dir_, lib + "/relative.so"), real);
  EXPECT_EQ(FollowBelow(dir_, lib + "/beyond.so"), real);
  EXPECT_EQ(FollowBelow(dir_, lib + "/round.so"), lib + "/round.so");
  EXPECT_EQ(FollowBelow(dir_, lib + "/none.so"), lib + "/none.so");
  EXPECT_EQ(FollowBelow("", real), real);
}

TEST_F(FilesTest, ATreeThatIsALinkOrAFileOrNothingIsRemovedByItself) {
  ASSERT_TRUE(MakeDirectories(dir_ + "/directory"));
  ASSERT_TRUE(ReplaceLink(dir_ + "/link", dir_ + "/directory"));
  ASSERT_TRUE(ReplaceFile(dir_ + "/file", ""));

  EXPECT_TRUE(RemoveTree(dir_ + "/link"));
  EXPECT_TRUE(RemoveTree(dir_ + "/file"));
  EXPECT_TRUE(RemoveTree(dir_ + "/nothing"));
  EXPECT_EQ(ListDirectory(dir_).value(), std::vector<std::string>{"directory"});
}

}  // namespace
}  // namespace tessera::os
