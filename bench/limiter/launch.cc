// SPDX-License-Identifier: Apache-2.0
// The limiter's cost in cuLaunchKernel, over a driver that takes almost no time. Cases: no limits
// at all, no limit of time, and a limit that never delays a launch. Figures: the median of launches
// that are not measured by events, and the mean of all. Several processes run each case, with bare
// and limited launches in turns, and the median process counts. So neither a disturbance nor a
// process's memory layout decides.
//
// usage: bench_limiter_launch [PROCESSES [ROUNDS]]
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/limiter/bench.h"
#include "limiter/accounting/ticks.h"
#include "limiter/driver/cuda.h"

namespace {

using tessera::limiter::BenchContainer;
using tessera::limiter::Library;
using tessera::limiter::Median;
using tessera::limiter::Ticks;
using LaunchKernel = decltype(&cuLaunchKernel);

// In ns, except `measured`.
struct Launches {
  double bare = 0;
  double limited = 0;
  double mean_bare = 0;
  double mean_limited = 0;
  double measured = 0;  // share of the limited launches, in percent

  double added() const { return limited - bare; }
  double mean_added() const { return mean_limited - mean_bare; }
};

template <typename T>
T Find(const std::string& path, const char* name) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());  // NOLINT(concurrency-mt-unsafe): one thread
    _exit(1);
  }
  return reinterpret_cast<T>(dlsym(library, name));
}

double Nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void Launch(LaunchKernel launch) {
  if (launch(reinterpret_cast<CUfunction>(64), 132, 1, 1, 128, 1, 1, 0, nullptr, nullptr,
             nullptr) != CUDA_SUCCESS) {
    _exit(1);
  }
}

// The mean time of one launch, in CPU time of this thread.
constexpr int kChunk = 10'000;
double Chunk(LaunchKernel launch) {
  const double begin = Nanoseconds();
  for (int i = 0; i < kChunk; ++i) Launch(launch);
  return (Nanoseconds() - begin) / kChunk;
}

// Ticks of one launch, averaged over a few launches without a measured one. Some machines' counter
// moves in steps of 10 ns. The limiter measures one launch in sixteen, at random.
void AddUnmeasured(LaunchKernel launch, const uint64_t& events, std::vector<double>* ticks,
                   int few = 32) {
  const uint64_t before = events;
  const uint64_t begin = Ticks();
  for (int n = 0; n < few; ++n) Launch(launch);
  const uint64_t took = Ticks() - begin;
  if (events == before) ticks->push_back(static_cast<double>(took) / few);
}
void AddUnmeasuredOften(LaunchKernel launch, const uint64_t& events, std::vector<double>* ticks) {
  for (int i = 0; i < 500; ++i) AddUnmeasured(launch, events, ticks);
}

double TicksOfANanosecond() {
  const uint64_t begin = tessera::limiter::Now(), ticks = Ticks();
  while (tessera::limiter::Now() - begin < 20'000'000) {
  }
  return static_cast<double>(Ticks() - ticks) /
         static_cast<double>(tessera::limiter::Now() - begin);
}

Launches MeasureHere(int rounds) {
  const auto bare = Find<LaunchKernel>(Library(BENCH_BARE_DRIVER), "cuLaunchKernel");
  const auto limited = Find<LaunchKernel>(Library(TESSERA_LIBVGPU), "cuLaunchKernel");
  const uint64_t& events = *Find<const uint64_t*>(Library(BENCH_BARE_DRIVER), "bench_events");
  std::vector<double> mean_bare, mean_limited, ticks_bare, ticks_limited;
  uint64_t measured = 0;
  for (int i = 0; i < rounds; ++i) {
    mean_bare.push_back(Chunk(bare));
    const uint64_t before = events;
    mean_limited.push_back(Chunk(limited));
    measured += (events - before) / 2;  // one event before a launch and one after
    AddUnmeasuredOften(bare, events, &ticks_bare);
    AddUnmeasuredOften(limited, events, &ticks_limited);
  }
  const double ticks = TicksOfANanosecond();
  return {.bare = Median(ticks_bare) / ticks,
          .limited = Median(ticks_limited) / ticks,
          .mean_bare = Median(mean_bare),
          .mean_limited = Median(mean_limited),
          .measured = static_cast<double>(measured) / rounds / kChunk * 100};
}

// The cost of launches of kernels with this length. Each starts when the share allows it, so none
// waits; the median of single launches.
Launches MeasureOfLength(double us, int times) {
  const auto bare = Find<LaunchKernel>(Library(BENCH_BARE_DRIVER), "cuLaunchKernel");
  const auto limited = Find<LaunchKernel>(Library(TESSERA_LIBVGPU), "cuLaunchKernel");
  const uint64_t& events = *Find<const uint64_t*>(Library(BENCH_BARE_DRIVER), "bench_events");
  *Find<float*>(Library(BENCH_BARE_DRIVER), "bench_kernel_ms") = static_cast<float>(us / 1e3);
  std::vector<double> ticks_bare, ticks_limited;
  for (int i = 0; i < times; ++i) {
    AddUnmeasured(bare, events, &ticks_bare, 1);
    AddUnmeasured(limited, events, &ticks_limited, 1);
    const auto pause = static_cast<uint64_t>(us * 1e3 * 3);  // longer than a share of a half needs
    for (const uint64_t begin = tessera::limiter::Now(); tessera::limiter::Now() - begin < pause;) {
    }
  }
  const double ticks = TicksOfANanosecond();
  return {.bare = Median(ticks_bare) / ticks, .limited = Median(ticks_limited) / ticks};
}

struct Kind {
  const char* name;
  const char* memory;   // limit; null: unset
  const char* percent;  // limit of time; 0: not limited
  double us = 0;        // the length of a kernel; 0: almost none
};
constexpr Kind kKinds[] = {{"no limits at all", nullptr, nullptr},
                           {"no limit of time", "64g", "0"},
                           {"limited", "64g", "50"},
                           {"limited, of 20 us", "64g", "50", 20},
                           {"limited, of 200 us", "64g", "50", 200}};

// In a process of its own, as a process reads its limits only once.
Launches Measure(const Kind& kind, int rounds, Launches* shared) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    // NOLINTBEGIN(concurrency-mt-unsafe): of one thread
    if (kind.memory != nullptr) setenv("CUDA_DEVICE_MEMORY_LIMIT", kind.memory, 1);
    if (kind.percent != nullptr) setenv("CUDA_DEVICE_SM_LIMIT", kind.percent, 1);
    // NOLINTEND(concurrency-mt-unsafe)
    *shared = kind.us == 0 ? MeasureHere(rounds) : MeasureOfLength(kind.us, 20 * rounds);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) exit(1);  // NOLINT(concurrency-mt-unsafe)
  return *shared;
}

template <typename Of>
double MedianOf(const std::vector<Launches>& all, Of of) {
  std::vector<double> values;
  for (const Launches& one : all) values.push_back(of(one));
  return Median(values);
}

void Print(const char* name, const std::vector<Launches>& all) {
  const auto [least, most] = std::ranges::minmax(all, {}, &Launches::added);
  std::printf("%-20s %8.1f %8.1f %8.1f (%.1f to %.1f)\n", name,
              MedianOf(all, [](const Launches& one) { return one.bare; }),
              MedianOf(all, [](const Launches& one) { return one.limited; }),
              MedianOf(all, [](const Launches& one) { return one.added(); }), least.added(),
              most.added());
  if (all.front().mean_bare == 0) return;
  std::printf("%-20s %8.1f %8.1f %8.1f, %.2f %% of them measured\n", "  mean of all",
              MedianOf(all, [](const Launches& one) { return one.mean_bare; }),
              MedianOf(all, [](const Launches& one) { return one.mean_limited; }),
              MedianOf(all, [](const Launches& one) { return one.mean_added(); }),
              MedianOf(all, [](const Launches& one) { return one.measured; }));
}

}  // namespace

int main(int count, char** words) {
  const int processes = count > 1 ? std::atoi(words[1]) : 9;
  const int rounds = count > 2 ? std::atoi(words[2]) : 100;
  const BenchContainer container;
  setenv("GPU_CORE_UTILIZATION_POLICY", "force", 1);  // NOLINT(concurrency-mt-unsafe)
  void* const memory =
      mmap(nullptr, sizeof(Launches), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto* const shared = new (memory) Launches{};
  std::vector<Launches> all[std::size(kKinds)];
  for (int process = 0; process < processes; ++process) {
    for (size_t i = 0; i < std::size(kKinds); ++i) {
      container.Restart();
      all[i].push_back(Measure(kKinds[i], rounds, shared));
    }
  }
  std::printf("%-20s %8s %8s %8s\n", "ns of a launch", "bare", "limited", "added");
  for (size_t i = 0; i < std::size(kKinds); ++i) Print(kKinds[i].name, all[i]);
  return 0;
}
