// SPDX-License-Identifier: Apache-2.0
#include "os/unix_socket.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "os/files.h"
#include "os/lock.h"

namespace tessera::os {
namespace {

class UnixSocketTest : public testing::Test {
 protected:
  ~UnixSocketTest() override { (void)RemoveTree(dir_); }
  std::string dir_ = *MakeTemporaryDirectory(testing::TempDir() + "sock");
  std::string path_ = dir_ + "/s.sock";
};

TEST_F(UnixSocketTest, AListenerIsReachableAndPrivate) {
  auto listener = ListenUnix(path_);
  ASSERT_TRUE(listener);

  EXPECT_EQ(Inspect(path_)->mode, 0600u);
  EXPECT_TRUE(ConnectUnix(path_, Duration(1000)));
  EXPECT_TRUE(IsListening(path_));
}

TEST_F(UnixSocketTest, ALiveSocketIsNeitherReplacedNorRemoved) {
  auto listener = ListenUnix(path_);

  EXPECT_EQ(ListenUnix(path_).error(),
            (Error{Reason::kSocketInUse, path_ + " has a live listener"}));
  EXPECT_FALSE(RemoveStaleSocket(path_));
  EXPECT_TRUE(Exists(path_));
}

TEST_F(UnixSocketTest, ADeadSocketIsRemoved) {
  {
    auto listener = ListenUnix(path_);
  }

  EXPECT_EQ(ConnectUnix(path_, Duration(1000)).error(),
            (Error{Reason::kUnavailable, "no process listens on " + path_}));
  EXPECT_TRUE(RemoveStaleSocket(path_));
  EXPECT_FALSE(Exists(path_));
}

TEST_F(UnixSocketTest, ASymbolicLinkIsNotFollowed) {
  ASSERT_EQ(symlink((dir_ + "/elsewhere").c_str(), path_.c_str()), 0);

  EXPECT_EQ(ListenUnix(path_).error(),
            (Error{Reason::kSocketPlanted, path_ + " exists and is not ours to replace"}));
  EXPECT_FALSE(RemoveStaleSocket(path_));
  EXPECT_FALSE(Exists(dir_ + "/elsewhere"));
}

TEST_F(UnixSocketTest, APathThatIsTooLongIsRefusedWithItsLength) {
  std::string path = "/" + std::string(107, 'x');

  EXPECT_EQ(ListenUnix(path).error(),
            (Error{Reason::kSocketPathTooLong, "socket path " + path + " is 108 bytes long"}));
}

TEST_F(UnixSocketTest, AMissingSocketIsNotFound) {
  EXPECT_EQ(ConnectUnix(path_, Duration(1000)).error().reason, Reason::kNotFound);
}

TEST_F(UnixSocketTest, ALockIsHeldByOneAtATime) {
  {
    auto lock = FileLock::Take(dir_ + "/lock");
    ASSERT_TRUE(lock);
    EXPECT_EQ(FileLock::TakeWithin(dir_ + "/lock", Duration(2)).error().reason,
              Reason::kStateLocked);
    EXPECT_EQ(FileLock::Take(dir_ + "/lock").error(),
              (Error{Reason::kStateLocked, dir_ + "/lock is locked by another process"}));
  }
  EXPECT_TRUE(FileLock::TakeWithin(dir_ + "/lock", Duration(0)));
  EXPECT_TRUE(FileLock::Take(dir_ + "/lock"));
}

}  // namespace
}  // namespace tessera::os
