// SPDX-License-Identifier: Apache-2.0
#include "backend/ascend/vnpu_records.h"

#include <gtest/gtest.h>

#include "os/files.h"

namespace tessera::ascend {
namespace {

class VnpuRecordsTest : public testing::Test {
 protected:
  ~VnpuRecordsTest() override { EXPECT_TRUE(os::RemoveTree(directory_)); }

  const std::string directory_ = os::MakeTemporaryDirectory(testing::TempDir() + "vnpus").value();
  const VnpuRecords records_{directory_ + "/ascend"};
  const OwnVnpu vnpu_{.place = {4, 0},
                      .id = 171,
                      .name = "vir05_1c_16g",
                      .device = "die-0",
                      .pod = "uid-1",
                      .state = VnpuState::kMade};
};

TEST_F(VnpuRecordsTest, ARecordOutlivesItsWriter) {
  OwnVnpu other = vnpu_;
  other.id.reset();
  other.device = "die-1";
  other.state = VnpuState::kAsked;
  ASSERT_TRUE(records_.Put("grant", vnpu_));
  ASSERT_TRUE(records_.Put("grant", other));
  const VnpuRecord record{.boot = os::ReadBootId().value(), .vnpus = {vnpu_, other}};
  EXPECT_EQ(VnpuRecords(directory_ + "/ascend").Read("grant").value(), record);
  EXPECT_TRUE(records_.Drop("grant", "die-0"));
  EXPECT_EQ(records_.Read("grant")->vnpus, std::vector<OwnVnpu>{other});
  EXPECT_TRUE(records_.Drop("grant", "die-1"));
  EXPECT_EQ(os::ListDirectory(directory_ + "/ascend").value(), std::vector<std::string>());
  EXPECT_EQ(records_.Read("grant").value(), VnpuRecord());
}

TEST_F(VnpuRecordsTest, ADeviceHasOneVnpuInAGrant) {
  ASSERT_TRUE(records_.Put("grant", vnpu_));
  OwnVnpu later = vnpu_;
  later.state = VnpuState::kUndoing;
  ASSERT_TRUE(records_.Put("grant", later));
  EXPECT_EQ(records_.Read("grant")->vnpus, std::vector<OwnVnpu>{later});
}

TEST_F(VnpuRecordsTest, OnlyAVnpuThatIsStillWhatItWasIsLost) {
  ASSERT_TRUE(records_.Put("grant", vnpu_));
  OwnVnpu later = vnpu_;
  later.state = VnpuState::kUndoing;
  EXPECT_FALSE(records_.Lose("grant", later).value());
  EXPECT_FALSE(records_.Lose("other", vnpu_).value());
  EXPECT_TRUE(records_.Lose("grant", vnpu_).value());
  later.state = VnpuState::kLost;
  EXPECT_EQ(records_.Read("grant")->vnpus, std::vector<OwnVnpu>{later});
}

TEST_F(VnpuRecordsTest, OnlyVnpusOfThisBootAreTheAgentsOwn) {
  ASSERT_TRUE(records_.Put("now", vnpu_));
  ASSERT_TRUE(os::ReplaceFile(directory_ + "/ascend/before.vnpus",
                              TextOf(VnpuRecord{.boot = "another", .vnpus = {vnpu_}})));
  EXPECT_EQ(records_.Now().value(), (OwnVnpus{{{"now", "die-0"}, vnpu_}}));
}

TEST_F(VnpuRecordsTest, ARecordThatCannotBeReadIsAnError) {
  EXPECT_EQ(records_.Now().value(), OwnVnpus()) << "there is no directory yet";
  ASSERT_TRUE(os::MakeDirectories(directory_ + "/ascend/grant.vnpus"));
  EXPECT_EQ(records_.Read("grant").error().reason, Reason::kIo);
  EXPECT_EQ(records_.Now().error().reason, Reason::kIo);
  EXPECT_EQ(ParseVnpuRecord("boot a\nvnpu 1 0 all x y uid made\n").error(),
            (Error{Reason::kStateCorrupt, "a line is no vNPU's: vnpu 1 0 all x y uid made"}));
  EXPECT_FALSE(ParseVnpuRecord("vnpu 1 0 7 x y uid broken\n"));
}

}  // namespace
}  // namespace tessera::ascend
