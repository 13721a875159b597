// SPDX-License-Identifier: Apache-2.0
// A benchmark and its baseline, the least work that any code for the job needs. Both run in the
// same process, so that their ratio means the same on every machine.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>

namespace tessera::bench {

// Times `work`. The counter "ratio" is its time over that of `baseline`.
template <class Work, class Baseline>
void Compare(benchmark::State& state, Work work, Baseline baseline) {
  using Seconds = std::chrono::duration<double>;
  const auto begin = std::chrono::steady_clock::now();
  for (auto _ : state) work();
  const auto middle = std::chrono::steady_clock::now();
  const auto rounds = state.iterations();
  for (auto round = rounds; round > 0; --round) baseline();
  const Seconds base = std::chrono::steady_clock::now() - middle;
  state.counters["baseline_ns"] = base.count() * 1e9 / static_cast<double>(rounds);
  state.counters["ratio"] = Seconds(middle - begin) / base;
}

}  // namespace tessera::bench
