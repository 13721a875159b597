// SPDX-License-Identifier: Apache-2.0
#include "binding/refusal_history.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

RecordedRefusal Of(const std::string& container, Reason reason,
                   const std::string& message = "why") {
  return {.pod_uid = "uid-1",
          .pod = "default/train",
          .container = container,
          .resource = "nvidia.com/gpu",
          .error = {reason, message}};
}

Wall At(int seconds) {
  return Wall(Duration(seconds * 1000));
}

TEST(RefusalHistory, TheSameCauseOfAContainerCountsWithItsNewestWords) {
  RefusalHistory refusals;
  refusals.Add(Of("app", Reason::kNoRoom, "12 MiB are left"), At(1));
  refusals.Add(Of("app", Reason::kNotPlaced), At(2));
  refusals.Add(Of("app", Reason::kNoRoom, "10 MiB are left"), At(3));

  const auto all = refusals.All();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].error, (Error{Reason::kNoRoom, "10 MiB are left"}));
  EXPECT_EQ(all[0].count, 2);
  EXPECT_EQ(all[0].first, At(1));
  EXPECT_EQ(all[0].last, At(3));
  EXPECT_EQ(all[1].error.reason, Reason::kNotPlaced);
  EXPECT_EQ(all[1].count, 1);
}

TEST(RefusalHistory, WhatIsOverIsKeptAndBeginsAnew) {
  RefusalHistory refusals;
  refusals.Add(Of("app", Reason::kNoRoom), At(1));
  refusals.Add(Of("web", Reason::kNoRoom), At(2));
  refusals.MarkOver("uid-1", "app");
  EXPECT_FALSE(refusals.All()[0].over);
  EXPECT_TRUE(refusals.All()[1].over);

  refusals.Add(Of("app", Reason::kNoRoom), At(3));
  EXPECT_FALSE(refusals.All()[0].over);
  EXPECT_EQ(refusals.All()[0].count, 2);
}

TEST(RefusalHistory, OfTooManyTheOldestIsForgotten) {
  RefusalHistory refusals;
  for (size_t i = 0; i <= RefusalHistory::kMost; ++i) {
    refusals.Add(Of(fmt::format("c{}", i), Reason::kNoRoom), At(static_cast<int>(i)));
  }
  const auto all = refusals.All();
  EXPECT_EQ(all.size(), RefusalHistory::kMost);
  EXPECT_EQ(all.front().container, fmt::format("c{}", RefusalHistory::kMost));
  EXPECT_EQ(all.back().container, "c1");
}

TEST(RefusalHistory, ALongMessageIsCut) {
  RefusalHistory refusals;
  refusals.Add(Of("app", Reason::kNoRoom, std::string(100'000, 'x')), At(1));
  EXPECT_EQ(refusals.All().front().error.message.size(), RefusalHistory::kLongestMessage);
}

}  // namespace
}  // namespace tessera
