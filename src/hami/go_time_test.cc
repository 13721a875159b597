// SPDX-License-Identifier: Apache-2.0
#include "hami/go_time.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera::hami {
namespace {

constexpr Wall kMorning{std::chrono::seconds(1'787'304'600)};  // 2026-08-21T09:30:00Z

TEST(Rfc3339, IsWrittenInUtc) {
  EXPECT_EQ(FormatRfc3339(kMorning), "2026-08-21T09:30:00Z");
  EXPECT_EQ(FormatRfc3339(kMorning + Duration(999)), "2026-08-21T09:30:00Z");
}

TEST(Rfc3339, IsReadInEveryZone) {
  EXPECT_EQ(ParseRfc3339("2026-08-21T09:30:00Z"), kMorning);
  EXPECT_EQ(ParseRfc3339("2026-08-21T17:30:00+08:00"), kMorning);
  EXPECT_EQ(ParseRfc3339("2026-08-21T06:00:00-03:30"), kMorning);
  EXPECT_EQ(ParseRfc3339("2026-08-20T23:30:00-10:00"), kMorning);
}

TEST(Rfc3339, AFractionIsCutOff) {
  EXPECT_EQ(ParseRfc3339("2026-08-21T09:30:00.999Z"), kMorning);
  EXPECT_EQ(ParseRfc3339("2026-08-21T17:30:00.123456789+08:00"), kMorning);
}

TEST(Rfc3339, OtherTextIsNone) {
  for (const char* text :
       {"", "2026-08-21", "2026-08-21T09:30:00", "2026-08-21 09:30:00Z", "2026-02-30T09:30:00Z",
        "2026-13-21T09:30:00Z", "2026-08-21T24:00:00Z", "2026-08-21T09:60:00Z",
        "2026-08-21T09:30:60Z", "2026-08-21T09:30:00.Z", "2026-08-21T09:30:00z",
        "2026-08-21T09:30:00Zx", "2026-08-21T09:30:00+0800", "2026-08-21T09:30:00+24:00",
        "26-08-21T09:30:00Z", "+026-08-21T09:30:00Z", "9999-12-31T23:59:59-01:00",
        "0000-01-01T00:00:00+01:00"}) {
    EXPECT_EQ(ParseRfc3339(text), std::nullopt) << text;
  }
}

TEST(Rfc3339, WhateverIsWrittenIsReadBack) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 5'000; ++round) {
    const auto second = static_cast<int64_t>(random() % 250'000'000'000);
    const Wall time{std::chrono::seconds(second)};
    ASSERT_EQ(ParseRfc3339(FormatRfc3339(time)), time);
    ASSERT_EQ(ParseDateTime(FormatDateTime(time)), time);
  }
}

TEST(DateTime, HasASpaceAndNoZone) {
  EXPECT_EQ(FormatDateTime(kMorning), "2026-08-21 09:30:00");
  EXPECT_EQ(ParseDateTime("2026-08-21 09:30:00"), kMorning);
  EXPECT_EQ(ParseDateTime("2026-08-21T09:30:00"), std::nullopt);
  EXPECT_EQ(ParseDateTime("2026-08-21 09:30:00Z"), std::nullopt);
}

TEST(FormatNow, IsWhatGoSays) {
  EXPECT_EQ(FormatNow(kMorning + Duration(250), Duration(12'250)),
            "2026-08-21 09:30:00.25 +0000 UTC m=+12.250000000");
  EXPECT_EQ(FormatNow(kMorning, Duration(7)), "2026-08-21 09:30:00 +0000 UTC m=+0.007000000");
  EXPECT_EQ(FormatNow(kMorning + Duration(7), Duration(1'104'711'777)),
            "2026-08-21 09:30:00.007 +0000 UTC m=+1104711.777000000");
}

}  // namespace
}  // namespace tessera::hami
