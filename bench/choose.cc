// SPDX-License-Identifier: Apache-2.0
// Preferred allocation, which every pod's admission waits for.

#include "choose/choose.h"

#include <algorithm>
#include <random>

#include "base/text.h"
#include "bench/compare.h"
#include "bench/node.h"

namespace tessera::bench {
namespace {

// Eight devices, or one, out of all, offered in a random order as kubelet does. Baseline: the ids
// sorted, as any deterministic answer has to.
void ChooseOutOfAll(benchmark::State& state) {
  const Offer offer = WholeOffer(state.range(0));
  std::vector<std::string> available;
  for (const Share& share : offer.shares) available.push_back(share.id);
  std::shuffle(available.begin(), available.end(), std::mt19937_64(1));
  const Preference preference{
      .available = available, .must_include = {}, .size = static_cast<int>(state.range(1))};
  Compare(
      state, [&] { benchmark::DoNotOptimize(Choose(offer, preference)); },
      [&] {
        std::vector<std::string_view> ids(available.begin(), available.end());
        std::sort(ids.begin(), ids.end(), NaturalLess());
        benchmark::DoNotOptimize(ids);
      });
}
BENCHMARK(ChooseOutOfAll)->Args({64, 1})->Args({64, 8})->Args({1'600, 8})->Args({60'000, 8});

}  // namespace
}  // namespace tessera::bench
