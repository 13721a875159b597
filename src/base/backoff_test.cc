// SPDX-License-Identifier: Apache-2.0
#include "base/backoff.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(Backoff, PausesDoubleUpToTheLastAndBeginAnewAfterASuccess) {
  Backoff backoff(Duration(1'000), Duration(10'000));
  std::vector<int> seconds;
  const auto fail = [&](int times) {
    for (int i = 0; i < times; ++i) {
      seconds.push_back(static_cast<int>(backoff.Failed().count() / 1'000));
    }
  };

  EXPECT_EQ(backoff.pause(), Duration(0));
  fail(6);
  EXPECT_EQ(backoff.pause(), Duration(10'000));
  backoff.Succeeded();
  EXPECT_EQ(backoff.pause(), Duration(0));
  fail(2);

  EXPECT_EQ(seconds, (std::vector<int>{1, 2, 4, 8, 10, 10, 1, 2}));
}

}  // namespace
}  // namespace tessera
