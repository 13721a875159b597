// SPDX-License-Identifier: Apache-2.0
// The GPUs of a cluster in HAMi's annotations: 8 GPUs on each of 1,000 nodes.

#include <fmt/core.h>

#include "bench/compare.h"
#include "hami/node_register.h"

namespace tessera::bench {
namespace {

constexpr uint32_t kNodes = 1'000;
constexpr uint32_t kGpus = 8;

using Devices = std::vector<hami::RegisteredDevice>;

std::vector<Devices> Cluster() {
  std::vector<Devices> nodes(kNodes);
  for (uint32_t node = 0; node < kNodes; ++node) {
    for (uint32_t gpu = 0; gpu < kGpus; ++gpu) {
      nodes[node].push_back({.id = fmt::format("GPU-{:08x}-483b-b48f-d7e5-{:012x}", node, gpu),
                             .index = gpu,
                             .count = 10,
                             .devmem = 81'559,
                             .devcore = 100,
                             .type = "NVIDIA A100-SXM4-80GB",
                             .numa = gpu < kGpus / 2 ? 0 : 1,
                             .mode = "hami-core",
                             .health = true});
    }
  }
  return nodes;
}

size_t SizeOf(const std::vector<std::string>& annotations) {
  size_t size = 0;
  for (const std::string& annotation : annotations) size += annotation.size();
  return size;
}

std::vector<std::string> Encoded(const std::vector<Devices>& nodes) {
  std::vector<std::string> annotations;
  annotations.reserve(nodes.size());
  for (const Devices& devices : nodes) annotations.push_back(hami::EncodeRegister(devices));
  return annotations;
}

// Reports bytes a second of the annotations.
void Processed(benchmark::State& state, size_t size) {
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(size));
  state.counters["bytes"] = static_cast<double>(size);
}

// Baseline of both: a copy of the annotations.
void EncodeRegisters(benchmark::State& state) {
  const std::vector<Devices> nodes = Cluster();
  const std::vector<std::string> annotations = Encoded(nodes);
  Compare(
      state, [&] { benchmark::DoNotOptimize(Encoded(nodes)); },
      [&] { benchmark::DoNotOptimize(std::vector(annotations)); });
  Processed(state, SizeOf(annotations));
}
BENCHMARK(EncodeRegisters);

void DecodeRegisters(benchmark::State& state) {
  const std::vector<std::string> annotations = Encoded(Cluster());
  const auto decode = [&] {
    for (const std::string& annotation : annotations) {
      benchmark::DoNotOptimize(hami::DecodeRegister(annotation));
    }
  };
  Compare(state, decode, [&] { benchmark::DoNotOptimize(std::vector(annotations)); });
  Processed(state, SizeOf(annotations));
}
BENCHMARK(DecodeRegisters);

}  // namespace
}  // namespace tessera::bench
