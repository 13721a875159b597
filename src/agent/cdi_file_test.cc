// SPDX-License-Identifier: Apache-2.0
#include "agent/cdi_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/files.h"

namespace tessera::agent {
namespace {

class CdiFileTest : public testing::Test {
 protected:
  CdiFileTest() {
    Device npu;
    npu.key = {"dummy.com/npu", "0"};
    npu.visible_as = "0";
    offer_.devices.push_back(npu);
    rendering_.cdi_kind = "dummy.com/npu";
    rendering_.strategies = {Strategy::kCdiCri};
  }
  ~CdiFileTest() override { (void)os::RemoveTree(dir_); }
  std::vector<std::string> Files() {
    return os::ListDirectory(dir_).value_or(std::vector<std::string>{});
  }

  std::string dir_ = *os::MakeTemporaryDirectory(testing::TempDir() + "cdi");
  Offer offer_;
  Rendering rendering_;
  CdiFile file_;
};

TEST_F(CdiFileTest, TheDocumentStandsUnderTheNameOfItsKind) {
  file_.Write(dir_, offer_, rendering_, false);
  EXPECT_EQ(file_.path(), dir_ + "/" + CdiFileName("dummy.com/npu"));
  EXPECT_EQ(os::ReadFile(file_.path()).value_or(""), CdiDocument(offer_, rendering_));
  EXPECT_EQ(file_.document(), CdiDocument(offer_, rendering_));
}

TEST_F(CdiFileTest, WhatStandsThereAlreadyIsNotWrittenAgain) {
  file_.Write(dir_, offer_, rendering_, false);
  os::FileInfo before = os::Inspect(file_.path()).value_or(os::FileInfo{});
  CdiFile after_a_restart;
  after_a_restart.Write(dir_, offer_, rendering_, false);
  EXPECT_EQ(os::Inspect(file_.path()).value_or(os::FileInfo{}), before);
  EXPECT_EQ(after_a_restart.path(), file_.path());
}

TEST_F(CdiFileTest, AnotherKindTakesThePlaceOfTheFormer) {
  file_.Write(dir_, offer_, rendering_, false);
  rendering_.cdi_kind = "other.com/npu";
  file_.Write(dir_, offer_, rendering_, false);
  EXPECT_EQ(Files(), std::vector<std::string>{CdiFileName("other.com/npu")});
}

TEST_F(CdiFileTest, ADocumentThatContainersAreMadeFromStays) {
  file_.Write(dir_, offer_, rendering_, false);
  rendering_.strategies = {Strategy::kEnvvar};
  file_.Write(dir_, offer_, rendering_, true);
  EXPECT_EQ(Files(), std::vector<std::string>{CdiFileName("dummy.com/npu")});
  EXPECT_EQ(file_.path(), "");
}

TEST_F(CdiFileTest, AFailedWriteIsTriedAgain) {
  ASSERT_TRUE(os::WriteFileAtomically(dir_ + "/cdi", "a file", 0600));
  file_.Write(dir_ + "/cdi", offer_, rendering_, false);
  EXPECT_EQ(file_.document(), "");
  ASSERT_TRUE(os::RemoveFile(dir_ + "/cdi"));
  file_.Write(dir_ + "/cdi", offer_, rendering_, false);
  EXPECT_EQ(file_.document(), CdiDocument(offer_, rendering_));
}

}  // namespace
}  // namespace tessera::agent
