// SPDX-License-Identifier: Apache-2.0
#include "os/open.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/files.h"
#include "os/lock.h"
#include "os/opened_test.h"

namespace tessera::os {
namespace {

class OpenTest : public testing::Test {
 protected:
  ~OpenTest() override { (void)RemoveTree(dir_); }

  // Opens the file as every reader and writer does. Empty on success, else the error.
  std::vector<std::string> OpenAll(const std::string& name) const {
    const std::string path = dir_ + "/" + name;
    const Fd directory(open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto text = [&](const auto& opened) {
      std::string said = opened ? "" : opened.error().message;
      const size_t at = said.find(dir_ + "/");
      return at == std::string::npos ? said : said.erase(at, dir_.size() + 1);
    };
    return {text(ReadFile(path)), text(OpenToAppend(path)), text(FileLock::Take(path)),
            text(OpenFileIn(directory, name, O_RDWR, name))};
  }

  const std::string dir_ = *MakeTemporaryDirectory(testing::TempDir() + "open");
};

TEST_F(OpenTest, ARegularFileIsOpened) {
  ASSERT_TRUE(ReplaceFile(dir_ + "/file", "text"));
  const OpenWatch watch(dir_ + "/file");

  EXPECT_EQ(OpenAll("file"), std::vector<std::string>(4));
  EXPECT_TRUE(watch.was_opened());
}

TEST_F(OpenTest, ADeviceIsNeverOpened) {
  if (!MakeDevice(dir_ + "/device")) GTEST_SKIP() << "this user may make no device node";
  const OpenWatch watch(dir_ + "/device");

  EXPECT_EQ(OpenAll("device"), std::vector<std::string>(4, "device is not a regular file"));
  EXPECT_FALSE(watch.was_opened());
}

TEST_F(OpenTest, APipeIsNeverOpened) {
  ASSERT_EQ(mkfifo((dir_ + "/pipe").c_str(), 0666), 0);
  const OpenWatch watch(dir_ + "/pipe");

  EXPECT_EQ(OpenAll("pipe"), std::vector<std::string>(4, "pipe is not a regular file"));
  EXPECT_FALSE(watch.was_opened());
}

TEST_F(OpenTest, ALinkIsFollowedWhereTheReaderSaysSoAlone) {
  ASSERT_EQ(mkfifo((dir_ + "/pipe").c_str(), 0666), 0);
  ASSERT_TRUE(ReplaceFile(dir_ + "/file", "text"));
  ASSERT_TRUE(ReplaceLink(dir_ + "/link", "file"));
  ASSERT_TRUE(ReplaceLink(dir_ + "/to-pipe", "pipe"));

  const std::string link = "link is a symbolic link, which is not followed";
  EXPECT_EQ(OpenAll("link"), (std::vector<std::string>{"", link, link, link}));
  const OpenWatch watch(dir_ + "/pipe");
  EXPECT_EQ(OpenAll("to-pipe")[0], "to-pipe is not a regular file");
  EXPECT_FALSE(watch.was_opened());
}

TEST_F(OpenTest, ANameLeadsNowhereElse) {
  ASSERT_TRUE(MakeDirectories(dir_ + "/in"));
  ASSERT_TRUE(ReplaceFile(dir_ + "/file", "text"));
  const Fd in(open((dir_ + "/in").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));

  EXPECT_EQ(OpenFileIn(in, "../file", O_RDONLY, "it").error().message,
            "cannot open it: Invalid cross-device link");
  EXPECT_EQ(OpenDirectoryIn(in, "..", "it").error().message,
            "cannot open it: Invalid cross-device link");
  EXPECT_EQ(OpenFileIn(in, "file", O_RDONLY, "it").error(),
            (Error{Reason::kNotFound, "cannot open it: No such file or directory"}));
}

TEST_F(OpenTest, WhatIsReadFromTheKernelIsARegularFileAsWell) {
  EXPECT_TRUE(ReadBootId());
  EXPECT_FALSE(ReadFile("/proc/self/status").value().empty());
}

}  // namespace
}  // namespace tessera::os
