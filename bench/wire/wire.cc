// SPDX-License-Identifier: Apache-2.0
// The latencies that kubelet sees of the shipped binary, compared with a bare grpc++ callback
// server with the same messages. Both run, and are asked in turns. Prints a table.
// usage: bench_wire [start | kubelet | allocate | pause | change | rest | rest-many]...
#include <fmt/core.h>

#include <thread>
#include <vector>

#include "bench/wire/table.h"

namespace tessera::bench {
namespace {

using Kind = Subject::Kind;
using std::chrono::milliseconds;

constexpr const char* kQuick = "advertise: {debounce: 1ms}\n";

void BenchStart() {
  Row("exec to first list, 64 devices, ms", InTurns(20, 1, [](Kind kind) {
        Subject subject(kind, Npus(64));
        return subject.Start().count();
      }));
}

void BenchKubeletRestart() {
  Subject subject(Kind::kTessera, Npus(64));
  subject.Start();
  Samples samples;
  for (int i = 0; i < 60; ++i) {
    samples.tessera.push_back(subject.RestartKubelet().count());
    std::this_thread::sleep_for(milliseconds(20));  // another kubelet starts later
  }
  Row("kubelet.sock back to first list, ms", samples);
}

void BenchAllocate() {
  Subject tessera(Kind::kTessera, Npus(64));
  Subject bare(Kind::kBare, Npus(64));
  tessera.Start();
  bare.Start();
  RowOfAllocate("Allocate, one caller, ms", tessera, bare);

  const auto calls_a_second = [&](Kind kind) {
    Connection& connection = (kind == Kind::kTessera ? tessera : bare).connection();
    constexpr int kCalls = 500;
    const auto begin = Clock::now();
    std::vector<std::jthread> callers;
    for (int c = 0; c < 8; ++c) {
      callers.emplace_back([&connection, c] {
        for (int i = 0; i < kCalls; ++i) connection.Allocate((c * 8 + i) % 64);
      });
    }
    callers.clear();
    return 8 * kCalls / (Millis(Clock::now() - begin).count() / 1e3);
  };
  const double cpu = tessera.cpu_ms();
  const double bare_cpu = bare.cpu_ms();
  const Samples calls = InTurns(20, 1, calls_a_second);
  Row("Allocate, 8 callers, calls/s", calls);
  const auto per_call = [&](double ms) { return ms * 1e3 / (8 * 500 * double(calls.bare.size())); };
  Line("Allocate, 8 callers, CPU of the server a call", per_call(tessera.cpu_ms() - cpu),
       per_call(bare.cpu_ms() - bare_cpu), "us");
}

// kubelet seldom asks, so an idle program must wake up first.
void BenchPause() {
  Subject tessera(Kind::kTessera, Npus(64));
  Subject bare(Kind::kBare, Npus(64));
  tessera.Start();
  bare.Start();
  int asked = 0;
  Row("Allocate after a second or so, ms", InTurns(50, 1, [&](Kind kind) {
        // A different pause each time, so that it ends anywhere in a periodic timer.
        std::this_thread::sleep_for(milliseconds(600 + 7 * asked++));
        const auto begin = Clock::now();
        (kind == Kind::kTessera ? tessera : bare).connection().Allocate(asked % 64);
        return Millis(Clock::now() - begin).count();
      }));
}

void BenchChange(int devices, int n) {
  Subject tessera(Kind::kTessera, Npus(devices, kQuick));
  Subject bare(Kind::kBare, Npus(devices, kQuick));
  tessera.Start();
  bare.Start();
  int next_tessera = 0;
  int next_bare = 0;
  Row(fmt::format("a device fails to list read, {} devices, ms", devices),
      InTurns(n, 1, [&](Kind kind) {
        std::this_thread::sleep_for(milliseconds(8));  // beyond the debounce
        return kind == Kind::kTessera ? tessera.Fail(next_tessera++).count()
                                      : bare.Fail(next_bare++).count();
      }));
}

// The time until the agent is at rest. Without requests it asks kubelet for the pods' devices ever
// less often.
constexpr std::chrono::seconds kUntilRest{75};

constexpr std::chrono::seconds kRest{60};

void BenchRest(int devices) {
  Subject tessera(Kind::kTessera, Npus(devices));
  Subject bare(Kind::kBare, Npus(devices));
  tessera.Start();
  bare.Start();
  std::this_thread::sleep_for(kUntilRest);
  const double cpu = tessera.cpu_ms();
  const double bare_cpu = bare.cpu_ms();
  const double own_cpu = tessera.own_cpu_ms();
  const double bare_own_cpu = bare.own_cpu_ms();
  const double wakeups = tessera.wakeups();
  const double bare_wakeups = bare.wakeups();
  std::this_thread::sleep_for(kRest);
  Line(fmt::format("memory at rest, {} devices", devices), tessera.rss_mb(), bare.rss_mb(), "MB");
  Line(fmt::format("CPU at rest, {} devices, a minute", devices), tessera.cpu_ms() - cpu,
       bare.cpu_ms() - bare_cpu, "ms");
  Line("  of that not on gRPC's threads", tessera.own_cpu_ms() - own_cpu,
       bare.own_cpu_ms() - bare_own_cpu, "ms");
  Line("  wake-ups of all threads", tessera.wakeups() - wakeups, bare.wakeups() - bare_wakeups, "");
}

const std::vector<Part> kParts = {
    {"start", BenchStart},
    {"kubelet", BenchKubeletRestart},
    {"allocate", BenchAllocate},
    {"pause", BenchPause},
    {"change",
     [] {
       BenchChange(64, 60);
       BenchChange(8'000, 200);
     }},
    {"rest", [] { BenchRest(64); }},
    {"rest-many", [] { BenchRest(60'000); }},
};

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::RunParts(argc, argv, tessera::bench::kParts);
}
