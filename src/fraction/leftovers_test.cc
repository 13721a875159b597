// SPDX-License-Identifier: Apache-2.0
#include "fraction/leftovers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "os/files.h"
#include "os/rights_test.h"

namespace tessera {
namespace {

using Names = std::vector<std::string>;

class LeftoversTest : public testing::Test {
 protected:
  LeftoversTest() { Fill("grant"); }
  ~LeftoversTest() override { (void)os::RemoveTree(directory_); }

  void Fill(const std::string& name) {
    ASSERT_TRUE(os::MakeDirectories(directory_ + "/" + name + "/in", 0777));
    ASSERT_TRUE(os::ReplaceFile(directory_ + "/" + name + "/in/file", "text"));
  }
  Status PutAside() { return Leftovers::PutAside(directory_ + "/grant"); }
  Names There() const { return os::ListDirectory(directory_).value(); }
  // Gives the directory that is aside to another user with mode 0700. False if the test may not do
  // that.
  bool LockUp(bool locked) {
    const std::string path = directory_ + "/.ended-grant/in";
    return chown(path.c_str(), locked ? 12345 : 0, 0) == 0 &&
           chmod(path.c_str(), locked ? 0700 : 0777) == 0;
  }
  // Runs Remove without capabilities.
  void Remove() {
    const auto remove = [this] { leftovers_.Remove({directory_}); };
    if (!os::RunAsRootWith({}, remove)) remove();
  }

  const std::string directory_ = *os::MakeTemporaryDirectory(testing::TempDir() + "leftovers");
  FakeClock clock_;
  Leftovers leftovers_{clock_};
};

TEST_F(LeftoversTest, WhatWasPutAsideIsRemovedAndNothingElse) {
  ASSERT_TRUE(PutAside());
  Fill("other");
  EXPECT_EQ(There(), (Names{".ended-grant", "other"}));

  Remove();
  EXPECT_EQ(There(), Names{"other"});
  EXPECT_EQ(leftovers_.stuck(), 0U);
}

TEST_F(LeftoversTest, ADirectoryOfTheSameNameIsPutBeside) {
  ASSERT_TRUE(PutAside());
  Fill("grant");
  ASSERT_TRUE(PutAside());
  EXPECT_EQ(There(), (Names{".ended-grant", ".ended-grant-1"}));
  EXPECT_TRUE(PutAside()) << "nothing is there";
}

TEST_F(LeftoversTest, WhatStaysIsTriedAgainEverLessOften) {
  ASSERT_TRUE(PutAside());
  if (geteuid() != 0 || !LockUp(true)) GTEST_SKIP() << "this user may give no file away";
  testing::internal::CaptureStderr();
  Remove();
  EXPECT_EQ(leftovers_.stuck(), 1U);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("cannot remove the files of an ended container; the agent retries"),
            std::string::npos)
      << log;
  EXPECT_NE(log.find("cannot open " + directory_ + "/.ended-grant/in: Permission denied"),
            std::string::npos)
      << log;

  ASSERT_TRUE(LockUp(false));
  clock_.Advance(Leftovers::kFirst - Duration(1));
  Remove();
  EXPECT_EQ(There(), Names{".ended-grant"}) << "it was tried a moment ago";
  ASSERT_TRUE(LockUp(true));
  clock_.Advance(Duration(1));
  Remove();
  ASSERT_TRUE(LockUp(false));
  clock_.Advance(Leftovers::kFirst);
  Remove();
  EXPECT_EQ(There(), Names{".ended-grant"}) << "the second pause is longer";
  clock_.Advance(Leftovers::kFirst);
  Remove();
  EXPECT_EQ(There(), Names());
  EXPECT_EQ(leftovers_.stuck(), 0U);
}

TEST_F(LeftoversTest, ByTheRightForThatAllOfItIsRemoved) {
  ASSERT_TRUE(PutAside());
  if (geteuid() != 0 || !LockUp(true)) GTEST_SKIP() << "this user may give no file away";
  os::RunAsRootWith({CAP_FOWNER}, [this] { leftovers_.Remove({directory_}); });
  EXPECT_EQ(There(), Names());
}

TEST_F(LeftoversTest, AnotherAgentRemovesThem) {
  ASSERT_TRUE(PutAside());
  EXPECT_TRUE(Leftovers::RemoveAll({directory_, directory_ + "/none"}));
  EXPECT_EQ(There(), Names());
}

TEST_F(LeftoversTest, ThoseThatStayAreToldToWhoWantsThemAllRemoved) {
  ASSERT_TRUE(PutAside());
  if (geteuid() != 0 || !LockUp(true)) GTEST_SKIP() << "this user may give no file away";
  os::RunAsRootWith({}, [this] {
    EXPECT_EQ(Leftovers::RemoveAll({directory_}).error(),
              (Error{Reason::kPermission,
                     "cannot open " + directory_ + "/.ended-grant/in: Permission denied"}));
  });
}

}  // namespace
}  // namespace tessera
