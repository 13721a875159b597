// SPDX-License-Identifier: Apache-2.0
#include "os/thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace tessera::os {
namespace {

TEST(InParts, EachNumberIsInOnePart) {
  for (const size_t count : {0U, 1U, 63U, 64U, 1001U}) {
    std::vector<std::atomic<int>> seen(count);
    InParts(count, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) ++seen[i];
    });
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(seen[i], 1) << i << " of " << count;
  }
}

}  // namespace
}  // namespace tessera::os
