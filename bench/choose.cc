// SPDX-License-Identifier: Apache-2.0
// Preferred allocation, which every pod's admission waits for.

#include "choose/choose.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>

#include "base/text.h"
#include "bench/compare.h"
#include "bench/node.h"

namespace tessera::bench {
namespace {

// `size` of all offered devices, in a random order as kubelet lists them. Baseline: sorting the
// ids, which any deterministic answer must do.
void ChooseOf(benchmark::State& state, const Offer& offer, int64_t size) {
  std::vector<std::string> available;
  for (const Share& share : offer.shares) available.push_back(share.id);
  std::shuffle(available.begin(), available.end(), std::mt19937_64(1));
  const Preference preference{
      .available = available, .must_include = {}, .size = static_cast<int>(size)};
  Compare(
      state, [&] { benchmark::DoNotOptimize(Choose(offer, preference)); },
      [&] {
        std::vector<std::string_view> ids(available.begin(), available.end());
        std::sort(ids.begin(), ids.end(), NaturalLess());
        benchmark::DoNotOptimize(ids);
      });
}

// Eight devices, or one.
void ChooseOutOfAll(benchmark::State& state) {
  ChooseOf(state, WholeOffer(state.range(0)), state.range(1));
}
BENCHMARK(ChooseOutOfAll)->Args({64, 1})->Args({64, 8})->Args({1'600, 8})->Args({60'000, 8});

// Some of 16 GPUs in two sockets with PCIe switches of four. Middle sizes have the most sets.
void ChooseByLinks(benchmark::State& state) {
  Inventory inventory;
  for (int i = 0; i < 16; ++i) {
    Device device;
    device.key = {"nvidia.com/gpu", fmt::format("GPU-{:02}", i)};
    for (int peer = 0; peer < 16; ++peer) {
      if (peer == i) continue;
      const int points = peer / 8 != i / 8 ? 10 : peer / 4 != i / 4 ? 30 : 50 + 100 * (peer % 3);
      device.links.push_back({fmt::format("GPU-{:02}", peer), points});
    }
    inventory.devices.push_back(device);
  }
  const Offer offer = Divide("nvidia.com/gpu", {}, inventory, "nvidia.com/gpu",
                             [](const Device&) { return std::optional<Error>(); });
  ChooseOf(state, offer, state.range(0));
}
BENCHMARK(ChooseByLinks)->Arg(1)->Arg(2)->Arg(4)->Arg(8)->Arg(12);

}  // namespace
}  // namespace tessera::bench
