// SPDX-License-Identifier: Apache-2.0
#include "backend/dummy/fault_file.h"

#include <gtest/gtest.h>

#include "os/files.h"

namespace tessera::dummy {
namespace {

class FaultFileTest : public testing::Test {
 protected:
  ~FaultFileTest() override { (void)os::RemoveTree(state_); }

  const std::string state_ = *os::MakeTemporaryDirectory(testing::TempDir() + "faults");
  const std::string file_ = FaultFile(state_, "dummy.com/npu");
};

TEST_F(FaultFileTest, IsBelowTheStateByItsResource) {
  EXPECT_EQ(file_, state_ + "/dummy/dummy.com_npu.json");
  EXPECT_EQ(ReadFaultFile(file_).value(), Faults{});
}

TEST_F(FaultFileTest, FaultsAddUp) {
  ASSERT_TRUE(ChangeFaultFile(file_, "fail", "3", "smoke"));
  ASSERT_TRUE(ChangeFaultFile(file_, "hide", "4", ""));
  const Faults faults = ReadFaultFile(file_).value();
  EXPECT_EQ(faults.Of("3"), Fault{.fail = "smoke"});
  EXPECT_EQ(faults.Of("4"), Fault{.hidden = true});
}

TEST_F(FaultFileTest, ABrokenOneIsNamedAndStays) {
  ASSERT_TRUE(os::MakeDirectories(state_ + "/dummy"));
  ASSERT_TRUE(os::ReplaceFile(file_, "{"));
  const Status changed = ChangeFaultFile(file_, "fail", "3", "");
  ASSERT_FALSE(changed);
  EXPECT_TRUE(changed.error().message.starts_with(file_)) << changed.error().message;
  EXPECT_EQ(os::ReadFile(file_), "{");
}

TEST_F(FaultFileTest, OneThatCannotBeWrittenIsTold) {
  ASSERT_TRUE(os::ReplaceFile(state_ + "/dummy", "in the way"));
  EXPECT_FALSE(ChangeFaultFile(file_, "fail", "7", ""));
}

}  // namespace
}  // namespace tessera::dummy
