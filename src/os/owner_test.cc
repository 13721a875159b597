// SPDX-License-Identifier: Apache-2.0
#include "os/owner.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/files.h"

namespace tessera::os {
namespace {

TEST(Owner, IsReadFromTheFile) {
  const std::string path = MakeTemporaryDirectory(testing::TempDir() + "owner").value();
  ASSERT_EQ(chmod(path.c_str(), 0750), 0);
  EXPECT_EQ(OwnerOf(path).value(), (Owner{geteuid(), getegid(), 0750}));
  ASSERT_TRUE(RemoveTree(path));
  EXPECT_EQ(OwnerOf(path).error().reason, Reason::kNotFound);
}

TEST(Owner, OnlyRootAndOurselvesMayWrite) {
  constexpr uid_t kSelf = 1000;
  EXPECT_TRUE(IsSafe({0, 0, 0755}, kSelf));
  EXPECT_TRUE(IsSafe({0, 0, 0775}, kSelf));
  EXPECT_TRUE(IsSafe({kSelf, 5, 0755}, kSelf));
  EXPECT_FALSE(IsSafe({1001, 0, 0755}, kSelf));
  EXPECT_FALSE(IsSafe({0, 5, 0775}, kSelf));
  EXPECT_FALSE(IsSafe({0, 0, 0757}, kSelf));
  EXPECT_FALSE(IsSafe({0, 0, 01777}, kSelf));
}

TEST(Owner, AModeIsWrittenAsPeopleDo) {
  EXPECT_EQ(ModeText(0755), "0755");
  EXPECT_EQ(ModeText(01777), "1777");
}

}  // namespace
}  // namespace tessera::os
