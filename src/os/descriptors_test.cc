// SPDX-License-Identifier: Apache-2.0
#include "os/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

namespace tessera::os {
namespace {

class DescriptorsTest : public testing::Test {
 protected:
  DescriptorsTest() { EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0); }
  ~DescriptorsTest() override { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  void Set(rlim_t soft) const {
    const rlimit limit{soft, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }

  rlimit before_{};
};

TEST_F(DescriptorsTest, TheLimitIsRaisedAsFarAsTheProcessMay) {
  Set(100);
  EXPECT_EQ(DescriptorLimit(), 100U);

  EXPECT_EQ(RaiseDescriptorLimit(), 100U);

  EXPECT_EQ(DescriptorLimit(), std::min<rlim_t>(before_.rlim_max, kEnoughDescriptors));
}

TEST_F(DescriptorsTest, ALimitThatIsHigherStays) {
  if (before_.rlim_max <= kEnoughDescriptors) GTEST_SKIP() << "none is allowed here";
  Set(kEnoughDescriptors + 1);

  RaiseDescriptorLimit();

  EXPECT_EQ(DescriptorLimit(), kEnoughDescriptors + 1);
}

TEST_F(DescriptorsTest, WhetherOneIsLeftIsKnown) {
  EXPECT_TRUE(HasDescriptorLeft());

  Set(3);  // standard input, output and error

  EXPECT_FALSE(HasDescriptorLeft());
}

}  // namespace
}  // namespace tessera::os
