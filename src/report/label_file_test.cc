// SPDX-License-Identifier: Apache-2.0
#include "report/label_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/files.h"

namespace tessera {
namespace {

const Labels kLabels = {{"nvidia.com/gpu.count", "8"}, {"nvidia.com/cuda.driver.rev", ""}};
constexpr char kLines[] = "nvidia.com/cuda.driver.rev=\nnvidia.com/gpu.count=8\n";

class LabelFileTest : public testing::Test {
 protected:
  ~LabelFileTest() override { (void)os::RemoveTree(directory_); }
  std::vector<std::string> Files() {
    return os::ListDirectory(directory_ + "/features.d").value_or(std::vector<std::string>{});
  }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "labels");
  const std::string path_ = directory_ + "/features.d/gfd";
};

TEST_F(LabelFileTest, LabelsAreLinesInOrderForAllToRead) {
  const mode_t before = umask(0077);
  EXPECT_EQ(WriteLabelFile(path_, kLabels), true);
  umask(before);

  EXPECT_EQ(os::ReadFile(path_).value_or(""), kLines);
  EXPECT_EQ(os::Inspect(path_).value_or(os::FileInfo{}).mode, 0644U);
  EXPECT_EQ(Files(), std::vector<std::string>{"gfd"});
}

TEST_F(LabelFileTest, AFileThatHasTheseLabelsIsNotWrittenAgain) {
  ASSERT_TRUE(WriteLabelFile(path_, kLabels));
  const auto before = os::Inspect(path_).value_or(os::FileInfo{});

  EXPECT_EQ(WriteLabelFile(path_, kLabels), false);
  EXPECT_EQ(os::Inspect(path_).value_or(os::FileInfo{}), before);
}

TEST_F(LabelFileTest, OtherLabelsTakeThePlaceOfTheFormer) {
  ASSERT_TRUE(WriteLabelFile(path_, kLabels));

  EXPECT_EQ(WriteLabelFile(path_, {{"a", "b"}}), true);
  EXPECT_EQ(os::ReadFile(path_).value_or(""), "a=b\n");
  EXPECT_EQ(Files(), std::vector<std::string>{"gfd"});
}

TEST_F(LabelFileTest, WhatIsNoFileIsNotReplaced) {
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/features.d"));
  ASSERT_EQ(symlink("/etc/passwd", path_.c_str()), 0);

  const auto written = WriteLabelFile(path_, kLabels);
  EXPECT_EQ(written.error(), (Error{Reason::kIo, path_ + " is not a plain file"}));
}

TEST_F(LabelFileTest, AFileThatAnotherInstanceWroteIsNotRemoved) {
  ASSERT_TRUE(WriteLabelFile(path_, {{"a", "b"}}));

  EXPECT_TRUE(RemoveLabelFile(path_, kLabels));
  EXPECT_EQ(os::ReadFile(path_).value_or(""), "a=b\n");
  EXPECT_TRUE(RemoveLabelFile(path_, {{"a", "b"}}));
  EXPECT_EQ(Files(), std::vector<std::string>{});
}

}  // namespace
}  // namespace tessera
