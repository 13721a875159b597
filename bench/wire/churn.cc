// SPDX-License-Identifier: Apache-2.0
// A day's work in minutes: allocations, failures and kubelet restarts. Afterwards the shipped
// binary must have its former size; else the exit code is 1.
// usage: bench_churn [ALLOCATIONS FAILURES RESTARTS]
#include <fmt/core.h>

#include <cmath>

#include "bench/wire/peer.h"

int main(int argc, char** argv) {
  using tessera::bench::Subject;
  int counts[] = {200'000, 20'000, 500};
  for (int i = 0; i + 1 < argc && i < 3; ++i) counts[i] = std::stoi(argv[i + 1]);
  Subject subject(
      Subject::Kind::kTessera,
      tessera::bench::Npus(
          64,
          "advertise: {debounce: 1ms}\n"
          "health: {checkInterval: 100ms, failures: 1, passes: 1, recovery: 0s, hold: 0s}\n"));
  subject.Start();
  constexpr int kRounds = 10;
  double before = 0;
  int fds = 0;
  // One half of the devices is allocated; the other half fails.
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < counts[0] / kRounds; ++i) subject.connection().Allocate(i % 32);
    for (int i = 0; i < counts[1] / kRounds; ++i) subject.Fail(32 + i % 32);
    for (int i = 0; i < counts[2] / kRounds; ++i) subject.RestartKubelet();
    fmt::print("round {:>2}: {:.2f} MB, {} file descriptors\n", round + 1, subject.rss_mb(),
               subject.fds());
    // The first rounds fill pools, arenas and the log of verdicts.
    if (round == 1) {
      before = subject.rss_mb();
      fds = subject.fds();
    }
  }
  const double grown = subject.rss_mb() - before;
  fmt::print("grown by {:.2f} MB and {} file descriptors\n", grown, subject.fds() - fds);
  return std::abs(grown) <= 1 && subject.fds() == fds ? 0 : 1;
}
