// SPDX-License-Identifier: Apache-2.0
// The time that kube-scheduler waits at each pod: a call of filter, from its text to the answer's.
#include <fmt/core.h>

#include "bench/compare.h"
#include "hami/node_register.h"
#include "json/json.h"
#include "scheduler/cluster.h"

namespace tessera::bench {
namespace {

constexpr int kGpus = 8;

std::string NameOf(int64_t node) {
  return fmt::format("node-{:05}.cluster.example", node);
}

// `nodes` nodes of eight GPUs, every other one full.
scheduler::Cluster HalfFull(int64_t nodes) {
  scheduler::Cluster cluster({hami::ServedVendor()}, {});
  for (int64_t n = 0; n < nodes; ++n) {
    std::vector<hami::RegisteredDevice> gpus;
    std::string allocated;
    for (uint32_t i = 0; i < kGpus; ++i) {
      const std::string id = fmt::format("GPU-{:08}-0000-0000-0000-00000000000{}", n, i);
      gpus.push_back({.id = id,
                      .index = i,
                      .count = 10,
                      .devmem = 81920,
                      .devcore = 100,
                      .type = "NVIDIA A100-SXM4-80GB",
                      .numa = static_cast<int32_t>(i / 4),
                      .health = true});
      allocated += id + ",NVIDIA,81920,100:";
    }
    cluster.PutNode(
        {.name = NameOf(n),
         .annotations = {{std::string(hami::kNvidia.node_register), hami::EncodeRegister(gpus)}}});
    if (n % 2 == 0) continue;
    kube::Container main{.name = "main", .limits = {{"nvidia.com/gpu", "8"}}};
    kube::Pod pod{.uid = fmt::format("uid-{}", n), .node = NameOf(n), .containers = {main}};
    pod.annotations[std::string(hami::kNvidia.pod_allocated)] = allocated + ";";
    cluster.PutPod(std::make_shared<const kube::Pod>(std::move(pod)));
  }
  return cluster;
}

std::string CallOf(int64_t nodes) {
  std::string names;
  for (int64_t n = 0; n < nodes; ++n)
    names += fmt::format("{}\"{}\"", n == 0 ? "" : ",", NameOf(n));
  return R"({"Pod":{"metadata":{"name":"train","namespace":"team","uid":"uid","resourceVersion":"1"},)"
         R"("spec":{"containers":[{"name":"main","resources":{"limits":{"nvidia.com/gpu":"1",)"
         R"("nvidia.com/gpumem":"3000"}}}]}},"Nodes":null,"NodeNames":[)" +
         names + "]}";
}

// Baseline: parsing the call's text as JSON, which any extender must do to read the names.
void Filter(benchmark::State& state) {
  scheduler::Cluster cluster = HalfFull(state.range(0));
  const std::string text = CallOf(state.range(0));
  const Steady now = SystemClock().Now();
  Compare(
      state,
      [&] {
        const auto call = scheduler::ReadFilterCall(text, cluster.PodFields());
        benchmark::DoNotOptimize(
            json::Write(scheduler::FilterAnswerJson(cluster.Filter(*call, now))));
      },
      [&] { benchmark::DoNotOptimize(json::Parse(text)); });
}
BENCHMARK(Filter)->Arg(1'000)->Arg(5'000)->Arg(10'000)->Unit(benchmark::kMillisecond);

// The part of the time that parsing takes.
void ReadCall(benchmark::State& state) {
  const scheduler::Cluster cluster({hami::ServedVendor()}, {});
  const std::string text = CallOf(state.range(0));
  Compare(
      state,
      [&] { benchmark::DoNotOptimize(scheduler::ReadFilterCall(text, cluster.PodFields())); },
      [&] { benchmark::DoNotOptimize(json::Parse(text)); });
}
BENCHMARK(ReadCall)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera::bench
