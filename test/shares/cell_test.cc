// SPDX-License-Identifier: Apache-2.0
// Some cells of the limiter's accuracy. How close to their limits containers come is the
// benchmark's to say (bench/limiter/share.cc), on a machine that does nothing else; what is
// asserted here stays true on a busy one: nobody gets more, nor so little that it was not limited
// but stopped.
#include "shares/cell.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace tessera::limiter {
namespace {

constexpr uint64_t kUs = 1'000;

struct Cell {
  const char* name;
  uint64_t ns;
  std::vector<CellContainer> containers;
  bool agent = false;
  const char* driver = "";
  double least = 1.0 / 3;  // of its limit
};

void PrintTo(const Cell& cell, std::ostream* out) {
  *out << cell.name;
}

class CellTest : public testing::TestWithParam<Cell> {};

TEST_P(CellTest, EachContainerGetsItsShare) {
  const Cell& cell = GetParam();
  CellSettings settings{.seconds = 2, .warm = 2, .agent = cell.agent};
  settings.driver += cell.driver;
  const std::vector<CellShare> shares = MeasureCell(cell.ns, cell.containers, settings);
  for (size_t i = 0; i < shares.size(); ++i) {
    const auto limit = static_cast<double>(cell.containers[i].percent);
    std::printf("%.1f of %.0f %% (%.1f)\n", shares[i].mean, limit, shares[i].error);
    EXPECT_LE(shares[i].mean, limit * 1.1 + 2);
    EXPECT_GE(shares[i].mean, limit * cell.least);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cells, CellTest,
    testing::Values(
        Cell{"OfShortKernels", 200 * kUs, {{30}}},
        Cell{"OfKernelsOfMilliseconds", 2'000 * kUs, {{10}}},
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

}  // namespace
}  // namespace tessera::limiter
