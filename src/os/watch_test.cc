// SPDX-License-Identifier: Apache-2.0
#include "os/watch.h"

#include <gtest/gtest.h>

#include <charconv>

#include "os/files.h"

namespace tessera::os {
namespace {

class WatchTest : public testing::Test {
 protected:
  WatchTest() {
    // One change ends one Run; the deadline only keeps a broken watch from hanging the test.
    watch_ = *DirectoryWatch::Make(loop_, Duration(5), [this] {
      ++changes_;
      loop_.Stop();
    });
    deadline_ = loop_.After(Duration(20'000), [this] {
      ADD_FAILURE() << "nothing was noticed";
      loop_.Stop();
    });
  }
  ~WatchTest() override { (void)RemoveTree(dir_); }

  std::string dir_ = *MakeTemporaryDirectory(testing::TempDir() + "watch");
  Loop loop_;
  int changes_ = 0;
  std::unique_ptr<DirectoryWatch> watch_;
  Loop::Handle deadline_;
};

TEST_F(WatchTest, ANewFileIsNoticed) {
  watch_->Watch({dir_});
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/a", ""));

  loop_.Run();

  EXPECT_GE(changes_, 1);
}

TEST_F(WatchTest, ADirectoryThatAppearsLaterIsNoticed) {
  watch_->Watch({dir_ + "/late"});
  ASSERT_TRUE(MakeDirectories(dir_ + "/late"));

  loop_.Run();

  EXPECT_EQ(changes_, 1);
}

TEST_F(WatchTest, AReplacedDirectoryIsWatchedAgain) {
  ASSERT_TRUE(MakeDirectories(dir_ + "/d"));
  watch_->Watch({dir_ + "/d"});
  ASSERT_TRUE(RemoveTree(dir_ + "/d"));
  loop_.Run();
  ASSERT_TRUE(MakeDirectories(dir_ + "/d"));
  loop_.Run();
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/d/a", ""));

  loop_.Run();

  EXPECT_GE(changes_, 3);
}

TEST_F(WatchTest, ADirectoryReplacedBetweenTwoLooksIsWatchedAgain) {
  // The new directory may reuse the old one's inode.
  ASSERT_TRUE(MakeDirectories(dir_ + "/d"));
  watch_->Watch({dir_ + "/d"});
  ASSERT_TRUE(RemoveTree(dir_ + "/d"));
  ASSERT_TRUE(MakeDirectories(dir_ + "/d"));
  loop_.Run();
  changes_ = 0;
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/d/a", ""));

  loop_.Run();

  EXPECT_GE(changes_, 1);
}

TEST_F(WatchTest, AnOverflowIsNoticedByItself) {
  std::string text = ReadFile("/proc/sys/fs/inotify/max_queued_events").value_or("");
  int longest = 0;
  std::from_chars(text.data(), text.data() + text.size(), longest);
  if (longest <= 0) GTEST_SKIP() << "this machine does not tell how long the queue may be";
  if (longest > 1'000'000) GTEST_SKIP() << "this kernel's queue takes too long to fill";
  // The queue is full of echoes of our own calls, so real events find no room in it.
  for (int i = 0; i < longest; ++i) {
    watch_->Watch({dir_});
    watch_->Watch({});
  }
  watch_->Watch({dir_});
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/a", ""));

  loop_.Run();

  EXPECT_EQ(changes_, 1);
}

TEST_F(WatchTest, ADirectoryNoLongerAskedForIsQuiet) {
  watch_->Watch({dir_});
  watch_->Watch({});
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/a", ""));
  auto end = loop_.After(Duration(30), [this] { loop_.Stop(); });

  loop_.Run();

  EXPECT_EQ(changes_, 0);
}

}  // namespace
}  // namespace tessera::os
