// SPDX-License-Identifier: Apache-2.0
// From an inventory to the bytes that kubelet reads: the cost of every change of a device.

#include "kubelet/list.h"

#include "bench/compare.h"
#include "bench/node.h"

namespace tessera::bench {
namespace {

// Baseline: one copy of the devices, which an offer holds.
void DivideWholeDevices(benchmark::State& state) {
  const Inventory inventory = Node(state.range(0));
  Compare(
      state,
      [&] { benchmark::DoNotOptimize(Divide(kResource, {}, inventory, kResource, Healthy)); },
      [&] {
        benchmark::DoNotOptimize(
            std::vector<Device>(inventory.devices.begin(), inventory.devices.end()));
      });
}
BENCHMARK(DivideWholeDevices)->Arg(64)->Arg(1'600)->Arg(60'000);

// Baseline: one copy of the bytes.
void SerializeTheList(benchmark::State& state) {
  const Offer offer = WholeOffer(state.range(0));
  const auto bytes = kubelet::SerializeList(offer);
  if (!bytes) return state.SkipWithError(bytes.error().message.c_str());
  Compare(
      state, [&] { benchmark::DoNotOptimize(kubelet::SerializeList(offer)); },
      [&] { benchmark::DoNotOptimize(std::string(**bytes)); });
  state.counters["bytes"] = static_cast<double>((*bytes)->size());
}
BENCHMARK(SerializeTheList)->Arg(64)->Arg(1'600)->Arg(60'000);

}  // namespace
}  // namespace tessera::bench
