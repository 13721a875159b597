// SPDX-License-Identifier: Apache-2.0
#include "binding/refusals.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/captured_log_test.h"

namespace tessera {
namespace {

class RefusalsTest : public testing::Test {
 protected:
  // The number of log lines about it.
  ptrdiff_t Tell(Reason reason, const std::string& whose, const std::string& text = "no") {
    refusals_.LogRefusal("refused", {reason, text}, whose, {{"pod", whose}});
    return std::ranges::count(told_.Take(), '\n');
  }

  FakeClock clock_;
  Refusals refusals_{clock_};
  CapturedLog told_;
};

TEST_F(RefusalsTest, ACauseIsToldWithItsFieldsOnceInHalfAnHour) {
  refusals_.LogRefusal("refused", {Reason::kNoRoom, "5 MiB are left"}, "a", {{"pod", "default/a"}});
  EXPECT_TRUE(told_.Take().starts_with(
      "WARN refused pod=default/a reason=no-room error=\"5 MiB are left\" advice="));

  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Tell(Reason::kNoRoom, "a", std::to_string(i) + " MiB are left"), 0);
    clock_.Advance(Refusals::kSpan / 100 - Duration(1));
  }
  clock_.Advance(Duration(100));

  EXPECT_EQ(Tell(Reason::kNoRoom, "a"), 1);
  EXPECT_EQ(Tell(Reason::kNoRoom, "a"), 0);
}

TEST_F(RefusalsTest, AnotherReasonAndAnotherContainerAreOtherCauses) {
  EXPECT_EQ(Tell(Reason::kNoRoom, "a"), 1);
  EXPECT_EQ(Tell(Reason::kNotEnforced, "a"), 1);
  EXPECT_EQ(Tell(Reason::kNoRoom, "b"), 1);
  EXPECT_EQ(Tell(Reason::kNoRoom, "a"), 0);
}

TEST_F(RefusalsTest, BeyondSoManyCausesOneOfEachReasonIsTold) {
  for (size_t i = 0; i < Refusals::kCauses; ++i) {
    EXPECT_EQ(Tell(Reason::kNoRoom, std::to_string(i)), 1);
  }

  EXPECT_EQ(Tell(Reason::kNoRoom, "one more"), 1);
  EXPECT_EQ(Tell(Reason::kNoRoom, "and another"), 0);
  EXPECT_EQ(Tell(Reason::kNotPlaced, "and another"), 1);
  clock_.Advance(Refusals::kSpan);
  EXPECT_EQ(Tell(Reason::kNoRoom, "and another"), 1);
}

}  // namespace
}  // namespace tessera
