// SPDX-License-Identifier: Apache-2.0
// The latencies that kubelet sees on a node with NVIDIA GPUs. The shipped binary with the fake
// driver library is compared with a bare grpc++ callback server with the same messages. Prints a
// table.
// usage: bench_nvidia [start | allocate | prefer | xid | memory | trouble]...
#include <fmt/core.h>

#include <numeric>
#include <random>
#include <thread>

#include "bench/wire/table.h"
#include "nvml/nvidia_node.h"
#include "os/files.h"

namespace tessera::bench {
namespace {

using Kind = Subject::Kind;
using std::chrono::milliseconds;

constexpr char kEightGpus[] = "8xa100";

// All GPUs of a node of demo/hardware, each with `shares` shares.
MakeServed Gpus(const std::string& hardware, int shares = 1, const std::string& faults = "") {
  return [hardware, shares, faults](const std::string& directory) {
    NvidiaNode node(directory + "/node", hardware);
    if (!faults.empty()) node.SetFaults(faults);
    const std::string policy =
        shares == 1 ? "" : fmt::format("policy: replicas, replicas: {}, ", shares);
    Served served{
        .resource = "nvidia.com/gpu",
        .variable = "NVIDIA_VISIBLE_DEVICES",
        .shares = shares,
        .section = fmt::format("{}strategies: [envvar], nvidia: {{}}", policy),
        .settings = fmt::format("rootPrefix: {}\nadvertise: {{debounce: 1ms}}\n", node.directory()),
        .fault_file = node.faults_path(),
        // The driver forgets no event, so earlier ones stay in the file.
        .fault = [](int device) {
          std::string text = "events:\n";
          for (int i = 0; i <= device; ++i) text += fmt::format("- {{gpu: {}, xid: 79}}\n", i);
          return text;
        }};
    for (const nvml::HardwareGpu& gpu : node.hardware().gpus) {
      served.numa.push_back(gpu.numa);
      for (int share = 0; share < shares; ++share) {
        served.ids.push_back(shares == 1 ? gpu.uuid : fmt::format("{}::{}", gpu.uuid, share));
      }
    }
    return served;
  };
}

struct Node {
  std::string text;
  MakeServed served;
};
const Node kNodes[] = {{"8 GPUs", Gpus(kEightGpus)}, {"8 x 1000", Gpus(kEightGpus, 1'000)}};

void BenchStart() {
  for (const Node& node : kNodes) {
    Row(fmt::format("exec to first list, {}, ms", node.text), InTurns(20, 1, [&](Kind kind) {
          Subject subject(kind, node.served);
          return subject.Start().count();
        }));
  }
}

void BenchAllocate() {
  Subject tessera(Kind::kTessera, Gpus(kEightGpus));
  Subject bare(Kind::kBare, Gpus(kEightGpus));
  tessera.Start();
  bare.Start();
  RowOfAllocate("Allocate, 8 GPUs, ms", tessera, bare);
}

// Asks for `size` of all ids; a bare server has no such answer.
void BenchPrefer(const std::string& text, const MakeServed& served, int size) {
  Subject subject(Kind::kTessera, served);
  subject.Start();
  std::vector<std::string> available = subject.served().ids;
  std::shuffle(available.begin(), available.end(), std::mt19937_64(1));
  Samples samples;
  for (int i = 0; i < 220; ++i) {
    const auto begin = Clock::now();
    (void)subject.connection().Prefer(available, size);
    if (i >= 20) samples.tessera.push_back(Millis(Clock::now() - begin).count());
  }
  Row(fmt::format("GetPreferredAllocation, {} of {}, ms", size, text), samples);
}

void BenchPreferAll() {
  for (const int size : {1, 2, 4, 7}) BenchPrefer("8 GPUs", Gpus(kEightGpus), size);
  BenchPrefer("8 GPUs, NVML 20 ms a call", Gpus(kEightGpus, 1, "driver: {slow: 20}\n"), 4);
  for (const int size : {1, 2, 3, 4, 5, 8, 12, 15}) BenchPrefer("16 GPUs", Gpus("16xv100"), size);
  BenchPrefer("8 x 1000", Gpus(kEightGpus, 1'000), 4);
}

// Each process can lose eight GPUs.
void BenchXid() {
  for (const Node& node : kNodes) {
    Samples samples;
    for (int round = 0; round < 6; ++round) {
      Subject tessera(Kind::kTessera, node.served);
      Subject bare(Kind::kBare, node.served);
      tessera.Start();
      bare.Start();
      for (int gpu = 0; gpu < 8; ++gpu) {
        std::this_thread::sleep_for(milliseconds(8));  // beyond the debounce
        samples.tessera.push_back(tessera.Fail(gpu).count());
        samples.bare.push_back(bare.Fail(gpu).count());
      }
    }
    Row(fmt::format("XID to list read, {}, ms", node.text), samples);
  }
}

// By then the memory that only the start needed has been given back.
constexpr std::chrono::seconds kUntilRest{20};

void BenchMemory() {
  for (const Node& node : kNodes) {
    Subject tessera(Kind::kTessera, node.served);
    Subject bare(Kind::kBare, node.served);
    tessera.Start();
    bare.Start();
    std::this_thread::sleep_for(kUntilRest);
    Line(fmt::format("memory at rest, {}", node.text), tessera.rss_mb(), bare.rss_mb(), "MB");
  }
}

// The first seconds after the list, when retries are most frequent.
constexpr std::chrono::seconds kTroubled{20};

// The cost of a persistent error: the event set breaks as soon as it is made.
void BenchTrouble() {
  Subject broken(Kind::kTessera,
                 Gpus(kEightGpus, 1, "driver: {fail: {nvmlEventSetWait_v2: 999}}\n"));
  Subject sound(Kind::kTessera, Gpus(kEightGpus));
  broken.Start();
  sound.Start();
  const double cpu[] = {broken.cpu_ms(), sound.cpu_ms()};
  const double own[] = {broken.own_cpu_ms(), sound.own_cpu_ms()};
  std::this_thread::sleep_for(kTroubled);
  const double a_minute = std::chrono::minutes(1) / Millis(kTroubled);
  Line("CPU while events fail, 8 GPUs, a minute", (broken.cpu_ms() - cpu[0]) * a_minute,
       (sound.cpu_ms() - cpu[1]) * a_minute, "ms", "sound");
  Line("  of that not on gRPC's threads", (broken.own_cpu_ms() - own[0]) * a_minute,
       (sound.own_cpu_ms() - own[1]) * a_minute, "ms", "sound");
}

const std::vector<Part> kParts = {{"start", BenchStart},      {"allocate", BenchAllocate},
                                  {"prefer", BenchPreferAll}, {"xid", BenchXid},
                                  {"memory", BenchMemory},    {"trouble", BenchTrouble}};

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::RunParts(argc, argv, tessera::bench::kParts);
}
