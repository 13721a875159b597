// SPDX-License-Identifier: Apache-2.0
// Some cells of the limiter's accuracy. The benchmark (bench/limiter/share.cc) measures on an idle
// machine how close to their limits containers come. The assertions here must also hold on a busy
// machine: no container gets more than its limit, and none is starved. Other load can spoil a
// second, so the best of several counts.
#include "shares/cell.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tessera::limiter {
namespace {

constexpr uint64_t kUs = 1'000;
constexpr double kPoints = 2;  // percentage points by which a second may miss its limit

struct Cell {
  const char* name;
  uint64_t ns;
  std::vector<CellContainer> containers;
  bool agent = false;
  const char* driver = "";
  double least = 1.0 / 3;  // the smallest mean share, as a part of the limit
  bool is_close = false;   // one second at least is within kPoints of the limit
  int multiprocessors = 132;
};

void PrintTo(const Cell& cell, std::ostream* out) {
  *out << cell.name;
}

// True if one second at least keeps the limit, and the mean exceeds it by a tenth at most; kPoints
// more are allowed in both.
bool IsWithin(const Windows& got, double limit) {
  return *std::ranges::min_element(got) <= limit + kPoints && Mean(got) <= limit * 1.1 + kPoints;
}

double Closest(const Windows& got, double limit) {
  double closest = 100;
  for (const double share : got) closest = std::min(closest, std::abs(share - limit));
  return closest;
}

std::vector<Windows> Measure(const Cell& cell) {
  CellSettings settings{.seconds = 3, .warm = 2, .agent = cell.agent};
  settings.driver += cell.driver;
  settings.multiprocessors = cell.multiprocessors;
  return MeasureCell(cell.ns, cell.containers, settings);
}

class CellTest : public testing::TestWithParam<Cell> {};

TEST_P(CellTest, EachContainerGetsItsShare) {
  const Cell& cell = GetParam();
  const std::vector<Windows> shares = Measure(cell);
  for (size_t i = 0; i < shares.size(); ++i) {
    const auto limit = static_cast<double>(cell.containers[i].percent);
    std::printf("%.1f of %.0f %%, closest %.1f\n", Mean(shares[i]), limit,
                Closest(shares[i], limit));
    EXPECT_TRUE(IsWithin(shares[i], limit)) << testing::PrintToString(shares[i]);
    EXPECT_GE(Mean(shares[i]), limit * cell.least);
    if (cell.is_close) {
      EXPECT_LE(Closest(shares[i], limit), kPoints);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cells, CellTest,
    testing::Values(
        Cell{"OfKernelsOfTwentyMicroseconds", 20 * kUs, {{30}}},
        Cell{"OfShortKernels", 200 * kUs, {{30}}},
        Cell{"OfASmallGpu", 2'000 * kUs, {{60, 2}}, false, "", 0.8, false, 40},
        Cell{"OfALargeGpu", 2'000 * kUs, {{30, 4}}, false, "", 0.8, false, 188},
        Cell{"OfKernelsOfMilliseconds", 2'000 * kUs, {{10}}},
        Cell{"CloselyOfKernelsOfMilliseconds", 2'000 * kUs, {{30}}, false, "", 0.8, true},
        Cell{"CloselyOfMoreThanHalf", 2'000 * kUs, {{60}}, false, "", 0.8, true},
        Cell{"OfLongKernels", 50'000 * kUs, {{30}}},
        Cell{"OfKernelsThatVaryByHalf", 200 * kUs, {{50}}, false, ",jitter=50"},
        Cell{"OfTwoProcesses", 2'000 * kUs, {{50, 2}}},
        Cell{"OfFourProcesses", 200 * kUs, {{30, 4}}},
        Cell{"OfEightProcesses", 2'000 * kUs, {{70, 8}}},
        Cell{"OfTwoContainers", 200 * kUs, {{30}, {60}}},
        Cell{"OfTwoContainersThatAreToldOfEachOther", 200 * kUs, {{30}, {60}}, true},
        Cell{"OfASmallOneBesideALargeOne", 2'000 * kUs, {{10}, {80}}},
        Cell{"OfASmallOneThatIsToldOfALargeOne", 2'000 * kUs, {{10}, {80}}, true},
        Cell{"OfTwoThatTakeTurns", 200 * kUs, {{10}, {80}}, true, ",slice-us=2000"},
        Cell{"OfLongKernelsThatTakeTurns", 50'000 * kUs, {{30}, {70}}, true, ",slice-us=2000", 0.8},
        Cell{"OfOneBesideAnUnlimitedOne", 2'000 * kUs, {{30}, {100}}, true, "", 0.6},
        Cell{"OfTwoThatMayHaveAllTogether", 2'000 * kUs, {{10}, {90}}},
        Cell{"OfSiblingsBesideSiblings", 2'000 * kUs, {{30, 2}, {60, 2}}, false, "", 0.8},
        Cell{"OfIdleSiblings", 50'000 * kUs, {{30, 1, 1}, {60, 1, 1}}, false, "", 0.8}),
    [](const testing::TestParamInfo<Cell>& info) { return info.param.name; });

// Shows that the assertions above can fail: a load without the limiter keeps none of these limits.
TEST(CellWithoutTheLibraryTest, KeepsNoLimit) {
  const Windows got = Measure({"", 50'000 * kUs, {{0, 2}}})[0];
  for (const double limit : {10, 30, 50, 70, 90}) {
    EXPECT_FALSE(IsWithin(got, limit)) << limit << testing::PrintToString(got);
  }
}

TEST(ScoreTest, ASecondAboveIsAsWrongAsOneBelow) {
  const Score score = ScoreOf({28, 32}, 30, {98, 100});
  EXPECT_EQ(score.target, 30);
  EXPECT_EQ(score.mean, 30);
  EXPECT_EQ(score.error, 2);
  EXPECT_EQ(score.off, 0);
}

TEST(ScoreTest, WhoNeverTakesItsLimitIsToGetWhatItTakes) {
  const Score score = ScoreOf({40, 42}, 50, {43, 45});
  EXPECT_EQ(score.target, 44);
  EXPECT_EQ(score.mean, 41);
  EXPECT_EQ(score.error, 3);
  EXPECT_EQ(score.off, -6);
}

}  // namespace
}  // namespace tessera::limiter
