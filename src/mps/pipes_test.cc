// SPDX-License-Identifier: Apache-2.0
#include "mps/pipes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "os/files.h"
#include "os/unix_socket.h"

namespace tessera::mps {
namespace {

class PipesTest : public testing::Test {
 protected:
  PipesTest() : directory_(*os::MakeTemporaryDirectory("/tmp/pipes-")) {
    EXPECT_TRUE(pipes_.Clear());
    daemon_ = *os::ListenUnix(socket_);
    EXPECT_TRUE(os::ReplaceFile(pipes_.path() + "/lock", "daemon"));
    EXPECT_TRUE(pipes_.KeepSockets());
  }
  ~PipesTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  // Whether a connection reaches the daemon.
  bool Reaches() const {
    const auto connected = os::ConnectUnix(socket_, Duration(1'000));
    return connected && os::Fd(accept4(daemon_.get(), nullptr, nullptr, SOCK_NONBLOCK)).valid();
  }

  const std::string directory_;
  const Pipes pipes_{directory_};
  const std::string socket_ = pipes_.path() + "/control";
  os::Fd daemon_;
};

TEST_F(PipesTest, WhatIsAsTheDaemonMadeItStays) {
  EXPECT_EQ(pipes_.RestoreSockets(), false);
  EXPECT_TRUE(Reaches());
}

TEST_F(PipesTest, ASocketThatWasRemovedIsPutBack) {
  ASSERT_TRUE(os::RemoveFile(socket_));
  ASSERT_TRUE(os::RemoveFile(pipes_.path() + "/lock"));
  EXPECT_FALSE(pipes_.Accepts());

  EXPECT_EQ(pipes_.RestoreSockets(), true);

  EXPECT_TRUE(Reaches());
  EXPECT_EQ(os::ReadFile(pipes_.path() + "/lock"), "daemon");
  EXPECT_EQ(pipes_.RestoreSockets(), false);
}

TEST_F(PipesTest, ASocketOfSomebodyElsesIsReplaced) {
  ASSERT_TRUE(os::RemoveFile(socket_));
  const auto other = os::ListenUnix(socket_);
  ASSERT_TRUE(other);
  EXPECT_TRUE(pipes_.Accepts());

  EXPECT_EQ(pipes_.RestoreSockets(), true);

  EXPECT_TRUE(Reaches());
}

TEST_F(PipesTest, ADirectoryOrALinkInItsPlaceIsReplacedAndNotFollowed) {
  const std::string elsewhere = directory_ + "/elsewhere";
  ASSERT_TRUE(os::MakeDirectories(elsewhere));
  ASSERT_TRUE(os::ReplaceFile(elsewhere + "/file", "host"));
  ASSERT_TRUE(os::RemoveFile(socket_));
  ASSERT_EQ(symlink((elsewhere + "/file").c_str(), socket_.c_str()), 0);
  ASSERT_TRUE(os::RemoveFile(pipes_.path() + "/lock"));
  ASSERT_TRUE(os::MakeDirectories(pipes_.path() + "/lock"));
  ASSERT_EQ(symlink(elsewhere.c_str(), (pipes_.path() + "/lock/link").c_str()), 0);

  EXPECT_EQ(pipes_.RestoreSockets(), true);

  EXPECT_TRUE(Reaches());
  EXPECT_EQ(os::ReadFile(elsewhere + "/file"), "host");
}

TEST_F(PipesTest, ASocketThatWasNotKeptCannotBePutBack) {
  ASSERT_TRUE(pipes_.Forget());
  EXPECT_EQ(pipes_.RestoreSockets(), false);
  ASSERT_TRUE(os::RemoveFile(socket_));

  const auto mended = pipes_.RestoreSockets();

  ASSERT_FALSE(mended);
  EXPECT_EQ(mended.error().message,
            "its socket " + socket_ + " was removed, and no link to it was kept");
}

TEST_F(PipesTest, BeforeAStartItIsEmptyAndStillWhatContainersHaveMounted) {
  const std::string elsewhere = directory_ + "/elsewhere";
  ASSERT_TRUE(os::MakeDirectories(elsewhere));
  ASSERT_TRUE(os::ReplaceFile(elsewhere + "/file", "host"));
  ASSERT_EQ(symlink(elsewhere.c_str(), (pipes_.path() + "/planted").c_str()), 0);
  ASSERT_EQ(symlink((elsewhere + "/file").c_str(), (pipes_.path() + "/log").c_str()), 0);
  const os::Fd mounted(open(pipes_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));

  ASSERT_TRUE(pipes_.Clear());

  EXPECT_EQ(os::ListDirectory(pipes_.path()), std::vector<std::string>());
  EXPECT_EQ(os::ListDirectory(elsewhere), std::vector<std::string>{"file"});
  ASSERT_TRUE(os::ReplaceFile(pipes_.path() + "/new", ""));
  EXPECT_EQ(faccessat(mounted.get(), "new", F_OK, 0), 0);
}

TEST_F(PipesTest, OneThatHangsTakesConnectionsAndOneThatHasEndedDoesNot) {
  EXPECT_TRUE(pipes_.Accepts());
  daemon_ = os::Fd();
  EXPECT_FALSE(pipes_.Accepts());
}

}  // namespace
}  // namespace tessera::mps
