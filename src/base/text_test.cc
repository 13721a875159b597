// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace tessera {
namespace {

TEST(NaturalLess, OrdersNumbersByValue) {
  std::vector<std::string> names = {"npu10", "npu2", "10", "2", "npu", "", "a-1-9", "a-1-10", "B"};

  std::sort(names.begin(), names.end(), NaturalLess());

  EXPECT_EQ(names, (std::vector<std::string>{"", "2", "10", "B", "a-1-9", "a-1-10", "npu", "npu2",
                                             "npu10"}));
}

TEST(NaturalLess, TakesNumbersOfAnyLength) {
  EXPECT_TRUE(NaturalLess()("99999999999999999999", "100000000000000000000"));
  EXPECT_FALSE(NaturalLess()("100000000000000000000", "99999999999999999999"));
}

TEST(NaturalLess, TellsNamesWithLeadingZerosApart) {
  EXPECT_TRUE(NaturalLess()("07", "7"));
  EXPECT_FALSE(NaturalLess()("7", "07"));
  EXPECT_TRUE(NaturalLess()("07a", "7b"));
}

TEST(NaturalLess, IsAStrictOrderOfAllNames) {
  std::mt19937 random(7);
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) {
    std::string name;
    for (auto n = random() % 5; n > 0; --n) name += "019a:"[random() % 5];
    names.push_back(name);
  }
  const NaturalLess less;

  for (const std::string& a : names) {
    for (const std::string& b : names) {
      ASSERT_EQ(less(a, b) + less(b, a), a == b ? 0 : 1) << a << " " << b;
      for (const std::string& c : names) {
        ASSERT_TRUE(!less(a, b) || !less(b, c) || less(a, c)) << a << " " << b << " " << c;
      }
    }
  }
}

TEST(Text, JoinsAndSplits) {
  const std::vector<std::string> parts = {"a", "", "c"};

  EXPECT_EQ(Join(parts, ", "), "a, , c");
  EXPECT_EQ(Join({}, ","), "");
  EXPECT_EQ(Split("a,,c", ','), parts);
  EXPECT_EQ(Split("", ','), std::vector<std::string>{""});
}

TEST(Text, TrimTakesWhiteSpaceOffBothEnds) {
  EXPECT_EQ(Trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trim("  "), "");
}

TEST(Text, WidthCountsCharactersAndNotBytes) {
  EXPECT_EQ(Width("größe…"), 6U);
  EXPECT_EQ(Width(""), 0U);
}

TEST(Text, IsWrappedAtSpaces) {
  EXPECT_EQ(Wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(Wrap("one", 2), (std::vector<std::string>{"one"}));
  EXPECT_EQ(Wrap("one\n\ntwo", 80), (std::vector<std::string>{"one", "", "two"}));
}

TEST(Closest, FindsTheWordThatWasMeant) {
  const std::vector<std::string> keys = {"count", "replicas", "resources", "numaNodes"};

  EXPECT_EQ(Closest("replica", keys), "replicas");
  EXPECT_EQ(Closest("resorces", keys), "resources");
  EXPECT_EQ(Closest("coun", keys), "count");
  EXPECT_EQ(Closest("speed", keys), std::nullopt);
  EXPECT_EQ(Closest("", keys), std::nullopt);
}

TEST(Closest, TakesSwappedNeighboursForOneSlip) {
  const std::vector<std::string> keys = {"log", "http", "count"};

  EXPECT_EQ(Closest("lgo", keys), "log");
  EXPECT_EQ(Closest("htpt", keys), "http");
  EXPECT_EQ(Closest("cuont", keys), "count");
  EXPECT_EQ(Closest("cnuto", keys), std::nullopt);
}

TEST(Closest, TakesTheFirstOfEquallyNearOnes) {
  const std::vector<std::string> keys = {"cat", "cut"};

  EXPECT_EQ(Closest("cot", keys), "cat");
}

TEST(Text, CountsWithANoun) {
  EXPECT_EQ(Count(64, "device"), "64 devices");
  EXPECT_EQ(Count(1, "device"), "1 device");
  EXPECT_EQ(Count(0, "device"), "0 devices");
}

TEST(Durations, AreReadWithOneUnit) {
  EXPECT_EQ(ParseDuration("250ms"), Duration(250));
  EXPECT_EQ(ParseDuration("10s"), Duration(10'000));
  EXPECT_EQ(ParseDuration("5m"), Duration(300'000));
  EXPECT_EQ(ParseDuration("2h"), Duration(7'200'000));
  EXPECT_EQ(ParseDuration("0s"), Duration(0));
}

TEST(Durations, AnythingElseIsRefused) {
  for (const char* text : {"", "10", "s", "-1s", "+1s", "1.5s", "1 s", " 1s", "1s ", "1d", "1sm",
                           "99999999999999999999s", "9223372036854775807h"}) {
    EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
  }
}

TEST(Durations, ThatWereMeasuredAreRounded) {
  EXPECT_EQ(MeasuredText(Duration(0)), "0 ms");
  EXPECT_EQ(MeasuredText(Duration(999)), "999 ms");
  EXPECT_EQ(MeasuredText(Duration(5'994)), "6.0 s");
  EXPECT_EQ(MeasuredText(Duration(60'000)), "1 min");
  EXPECT_EQ(MeasuredText(Duration(125'300)), "2 min 5 s");
  EXPECT_EQ(MeasuredText(Duration(12'000'000)), "3 h 20 min");
}

TEST(Durations, AreWrittenWithTheLargestUnitThatFits) {
  EXPECT_EQ(FormatDuration(Duration(0)), "0s");
  EXPECT_EQ(FormatDuration(Duration(250)), "250ms");
  EXPECT_EQ(FormatDuration(Duration(1'500)), "1500ms");
  EXPECT_EQ(FormatDuration(Duration(90'000)), "90s");
  EXPECT_EQ(FormatDuration(Duration(300'000)), "5m");
  EXPECT_EQ(FormatDuration(Duration(7'200'000)), "2h");
  EXPECT_EQ(FormatDuration(Duration(-5'000)), "-5s");
}

TEST(Times, AreWrittenInUtcWithMilliseconds) {
  EXPECT_EQ(FormatTime(Wall(Duration(0))), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatTime(Wall(Duration(1'795'197'600'123))), "2026-11-20T18:00:00.123Z");
  EXPECT_EQ(FormatTime(Wall(Duration(-1))), "1969-12-31T23:59:59.999Z");
}

TEST(ResourceNames, FollowTheRulesOfKubernetes) {
  struct Row {
    std::string name;
    bool valid;
  };
  const Row rows[] = {
      {"dummy.com/npu", true},
      {"nvidia.com/gpu", true},
      {"vendor/x", true},
      {"a-b.c0/Name_1.x-y", true},
      {"cpu", false},
      {"", false},
      {"/npu", false},
      {"dummy.com/", false},
      {"dummy.com/a/b", false},
      {"Dummy.com/npu", false},
      {"dummy_.com/npu", false},
      {"dummy..com/npu", false},
      {"-dummy.com/npu", false},
      {"dummy-.com/npu", false},
      {"dummy.com/-npu", false},
      {"dummy.com/npu.", false},
      {"dummy.com/n pu", false},
      {"kubernetes.io/npu", false},
      {"device.kubernetes.io/npu", false},
      {"requests.dummy.com/npu", false},
      {"dummy.com/" + std::string(63, 'n'), true},
      {"dummy.com/" + std::string(64, 'n'), false},
      {std::string(244, 'd') + "/npu", true},
      {std::string(245, 'd') + "/npu", false},
  };

  for (const Row& row : rows) EXPECT_EQ(IsExtendedResourceName(row.name), row.valid) << row.name;
}

}  // namespace
}  // namespace tessera
