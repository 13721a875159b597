// SPDX-License-Identifier: Apache-2.0
#include "limiter/contract.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace tessera::limiter {
namespace {

// Reads a value by HAMi's offset alone.
template <typename T>
T At(const std::vector<uint64_t>& bytes, size_t offset) {
  T value;
  std::memcpy(&value, reinterpret_cast<const char*>(bytes.data()) + offset, sizeof(value));
  return value;
}

std::vector<uint64_t> ImageOf(const RegionImage& image) {
  const auto region = std::make_unique<Region>();
  MakeRegion(image, region.get());
  std::vector<uint64_t> bytes(kRegionSize / 8);
  std::memcpy(bytes.data(), region.get(), kRegionSize);
  return bytes;
}

TEST(RegionImageTest, HamisMonitorFindsItsWordsAtItsOffsets) {
  const RegionDevice devices[] = {{"GPU-aa", 1 << 30, 30}, {"GPU-bb", 0, 0}};
  const auto bytes = ImageOf({.devices = devices, .count = 2, .priority = 0});
  EXPECT_EQ(At<int32_t>(bytes, 0), 19920718);
  EXPECT_EQ(At<int32_t>(bytes, 4), 1);
  EXPECT_EQ(At<int32_t>(bytes, 8), 2);
  EXPECT_EQ(At<uint64_t>(bytes, 56), 2u);
  EXPECT_STREQ(reinterpret_cast<const char*>(bytes.data()) + 64, "GPU-aa");
  EXPECT_STREQ(reinterpret_cast<const char*>(bytes.data()) + 64 + 96, "GPU-bb");
  EXPECT_EQ(At<uint64_t>(bytes, 1600), 1u << 30);
  EXPECT_EQ(At<uint64_t>(bytes, 1608), 0u);
  EXPECT_EQ(At<uint64_t>(bytes, 1728), 30u);
  EXPECT_EQ(At<uint64_t>(bytes, 1736), 100u);
  EXPECT_EQ(At<int32_t>(bytes, 2008896), 0);
  EXPECT_EQ(At<int32_t>(bytes, 2008900), 1);
  EXPECT_EQ(At<int32_t>(bytes, 2008904), 2);
  EXPECT_EQ(At<int32_t>(bytes, 2008908), 0);
  EXPECT_EQ(At<uint64_t>(bytes, kAccountingOffset), kAccountingMagic);
}

TEST(RegionImageTest, ADeviceThatNobodyNamedHasNoKeyAndIsNotCounted) {
  const RegionDevice devices[] = {{"", 1 << 20, 0}};
  const auto bytes = ImageOf({.devices = devices, .count = 1});
  EXPECT_EQ(At<uint64_t>(bytes, 56), 0u);
  EXPECT_EQ(At<uint64_t>(bytes, kAccountingOffset + offsetof(Accounting, devices) + 16), 0u);
}

}  // namespace
}  // namespace tessera::limiter
