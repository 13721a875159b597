// SPDX-License-Identifier: Apache-2.0
#include "bench/wire/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace tessera::bench {
namespace {

// The value that `share` of the values do not exceed.
double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  return values[at];
}

// Empty if there are no values.
std::string Cell(const std::vector<double>& values, double share) {
  return values.empty() ? "" : fmt::format("{:.3f}", Quantile(values, share));
}

std::string Ratio(const Samples& samples, double share) {
  if (samples.bare.empty()) return "";
  return fmt::format("{:.2f}", Quantile(samples.tessera, share) / Quantile(samples.bare, share));
}

}  // namespace

Samples InTurns(int groups, int group, const std::function<double(Subject::Kind)>& one) {
  Samples samples;
  for (int g = 0; g < groups; ++g) {
    for (int i = 0; i < group; ++i) samples.tessera.push_back(one(Subject::Kind::kTessera));
    for (int i = 0; i < group; ++i) samples.bare.push_back(one(Subject::Kind::kBare));
  }
  return samples;
}

void Head(const std::string& what) {
  fmt::print("\n{:<44}{:>7}{:>11}{:>11}{:>11}{:>11}{:>9}{:>9}\n", what, "n", "p50", "bare p50",
             "p99", "bare p99", "p50 x", "p99 x");
}

void Row(const std::string& what, const Samples& samples) {
  fmt::print("{:<44}{:>7}{:>11}{:>11}{:>11}{:>11}{:>9}{:>9}\n", what, samples.tessera.size(),
             Cell(samples.tessera, 0.5), Cell(samples.bare, 0.5), Cell(samples.tessera, 0.99),
             Cell(samples.bare, 0.99), Ratio(samples, 0.5), Ratio(samples, 0.99));
}

void RowOfAllocate(const std::string& what, Subject& tessera, Subject& bare) {
  const int ids = static_cast<int>(tessera.served().ids.size());
  int id = 0;
  const auto one = [&](Subject::Kind kind) {
    id = (id + 1) % ids;
    Connection& connection = (kind == Subject::Kind::kTessera ? tessera : bare).connection();
    const auto begin = Clock::now();
    connection.Allocate(id);
    return Millis(Clock::now() - begin).count();
  };
  (void)InTurns(2, 500, one);
  Row(what, InTurns(40, 250, one));
}

void Line(const std::string& what, double value, double base, const std::string& unit,
          const std::string& beside) {
  fmt::print("{:<44}{:>11.2f} {:<6} {} {:>9.2f}\n", what, value, unit, beside, base);
}

int RunParts(int argc, char** argv, const std::vector<Part>& parts) {
  setvbuf(stdout, nullptr, _IOLBF, 0);  // line by line, so that each row shows at once
  Head("time");
  for (const Part& part : parts) {
    const bool wanted = std::find(argv + 1, argv + argc, part.name) != argv + argc;
    if (argc == 1 || wanted) part.run();
  }
  return 0;
}

}  // namespace tessera::bench
