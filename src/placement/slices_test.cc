// SPDX-License-Identifier: Apache-2.0
#include "placement/slices.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(SlicesTest, ARangeThatNoDeviceHasIsAllOfIt) {
  EXPECT_EQ(BitsOf({2, 3}), 0b11100U);
  EXPECT_EQ(BitsOf({60, 4}), uint64_t{0b1111} << 60);
  for (const SliceRange& odd : {SliceRange{0, 0}, {60, 5}, {64, 1}, {0, 64}, {~0U, 2}}) {
    EXPECT_EQ(BitsOf(odd), ~uint64_t{0});
  }
}

TEST(SlicesTest, OfAsMuchMemoryTheOneOfFewerSlicesIsTakenThenTheFirst) {
  const std::vector<SliceProfile> profiles{
      {.name = "c", .memory = 10, .slices = 3, .places = {{0, 1}}},
      {.name = "a", .memory = 10, .slices = 2, .places = {{0, 1}}},
      {.name = "b", .memory = 10, .slices = 2, .places = {{0, 1}}}};
  EXPECT_EQ(SmallestSlice(profiles, 0, 10)->profile, "a");
  EXPECT_FALSE(SmallestSlice(profiles, 0, 11));
  EXPECT_FALSE(SmallestSlice(profiles, 1, 10));
}

}  // namespace
}  // namespace tessera
