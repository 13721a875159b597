// SPDX-License-Identifier: Apache-2.0
#include "card/time/slices.h"

#include <algorithm>
#include <string>
#include <vector>

#include "card/apart.h"
#include "card/row.h"
#include "card/time/busy.h"

namespace tessera::card {
namespace {

struct Timed {
  const char* name;
  uint64_t ns;
  int times;  // at most
};
constexpr Timed kTimed[] = {
    {"200 us", 200'000, 200}, {"2 ms", 2'000'000, 60}, {"50 ms", 50'000'000, 12}};
constexpr uint64_t kLongest = 1'200'000'000;  // ns, for all of one length

Work WorkOf(uint64_t ns, double rounds_per_ns) {
  return {ns,
          std::max<uint64_t>(static_cast<uint64_t>(static_cast<double>(ns) * rounds_per_ns), 1)};
}

// What a kernel takes by the events around it, and by the GPU's clock from its first instruction to
// its last.
void TimeKernels(Gpu& gpu, const std::string& beside, double rounds_per_ns) {
  const CUdeviceptr stamps = gpu.Allocate(2);
  bool is_stamped = true;
  for (const Timed& kernel : kTimed) {
    std::vector<double> events, own;
    const uint64_t end = Now() + kLongest;
    for (int i = 0; i < kernel.times && Now() < end; ++i) {
      events.push_back(gpu.MicrosecondsOf(WorkOf(kernel.ns, rounds_per_ns), stamps));
      const auto read = gpu.Read(stamps, 2);
      is_stamped &= read[1] != 0;
      own.push_back(static_cast<double>(read[1] - read[0]) / 1000);
    }
    const std::string name = std::string("a kernel of ") + kernel.name + " " + beside;
    Figure(name + ", by events", "us", events);
    if (is_stamped) Figure(name + ", by its own clock", "us", own);
  }
  if (!is_stamped) Trouble("kernels " + beside + ", by their own clock", "they wrote nothing");
}

// A kernel that runs on and on notes when it did not.
void FindGaps(Gpu& gpu, const std::string& beside) {
  constexpr uint64_t kNs = 400'000'000;
  constexpr size_t kMost = 1000;
  const CUdeviceptr out = gpu.Allocate(3 + 2 * kMost);
  gpu.LaunchGaps(kNs, out, kMost);
  gpu.Wait();
  const auto words = gpu.Read(out, 3 + 2 * kMost);
  const std::string name = "slices " + beside;
  if (words[0] == 0) return Trouble(name, "the kernel wrote nothing");
  const size_t gaps = words[0] - 1;
  Fact(name + ", gaps in 400 ms", std::to_string(gaps));
  std::vector<double> had, away;
  uint64_t since = words[1];
  for (size_t i = 0; i < gaps; ++i) {
    const uint64_t from = words[3 + 2 * i], to = words[4 + 2 * i];
    if (i > 0) had.push_back(static_cast<double>(from - since) / 1000);
    away.push_back(static_cast<double>(to - from) / 1000);
    since = to;
  }
  if (!had.empty()) Figure(name + ", had", "us", had);
  if (!away.empty()) Figure(name + ", away", "us", away);
}

void Ask(const std::string& beside, double rounds_per_ns, uint64_t neighbour_ns) {
  const Board board;
  std::vector<BusyProcess> neighbours;
  if (neighbour_ns != 0) {
    neighbours.emplace_back(board, 0, WorkOf(neighbour_ns, rounds_per_ns), beside,
                            std::vector<std::pair<std::string, std::string>>{});
  }
  if (!LetGo(board, neighbours, 10)) return Trouble(beside, "the neighbour was not ready");
  RunApart(beside, 10, [&] {
    NameTrouble(beside);
    Gpu gpu;
    TimeKernels(gpu, beside, rounds_per_ns);
    if (neighbour_ns != 0) FindGaps(gpu, beside);
  });
}

}  // namespace

void AskForSlices(double rounds_per_ns) {
  Ask("alone", rounds_per_ns, 0);
  Ask("beside kernels of 200 us", rounds_per_ns, 200'000);
  Ask("beside kernels of 50 ms", rounds_per_ns, 50'000'000);
}

}  // namespace tessera::card
