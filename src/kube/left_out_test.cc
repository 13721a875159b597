// SPDX-License-Identifier: Apache-2.0
#include "kube/left_out.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/log.h"

namespace tessera::kube {
namespace {

class LeftOutTest : public testing::Test {
 protected:
  LeftOutTest() {
    log::SetSink([this](std::string_view line) { lines_.emplace_back(line); });
  }
  ~LeftOutTest() override { log::SetSink(nullptr); }

  void Add(const std::string& key) { left_out_.Add(key, {Reason::kInvalid, "why " + key}); }

  std::vector<std::string> lines_;
  LeftOut left_out_{"an object is left"};
};

TEST_F(LeftOutTest, IsSaidOnceUntilItIsRead) {
  Add("a");
  Add("a");
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("an object is left"), std::string::npos) << lines_[0];
  EXPECT_NE(lines_[0].find("why a"), std::string::npos) << lines_[0];
  EXPECT_EQ(left_out_.size(), 1U);

  left_out_.Remove("a");
  EXPECT_EQ(left_out_.size(), 0U);
  Add("a");
  EXPECT_EQ(lines_.size(), 2U);
}

TEST_F(LeftOutTest, WhoIsNotInTheNextListIsNone) {
  Add("a");
  Add("b");

  left_out_.BeginList();
  Add("b");
  left_out_.EndList();

  EXPECT_EQ(left_out_.size(), 1U);
  EXPECT_EQ(lines_.size(), 2U);
  Add("a");
  EXPECT_EQ(lines_.size(), 3U);
}

TEST_F(LeftOutTest, HoweverManyThereAreTheLogIsNotFilledAndTheCountIsBounded) {
  for (size_t i = 0; i < 2 * LeftOut::kMost; ++i) Add(std::to_string(i));

  EXPECT_EQ(left_out_.size(), LeftOut::kMost);
  EXPECT_GE(lines_.size(), 20U);
  EXPECT_LE(lines_.size(), 25U);
}

}  // namespace
}  // namespace tessera::kube
