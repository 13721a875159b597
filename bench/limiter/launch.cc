// SPDX-License-Identifier: Apache-2.0
// What the limiter adds to cuLaunchKernel, over a driver that costs next to nothing, without a
// limit of time and with one that never holds a launch up; bare and limited chunks take turns. Of a
// launch that is not measured by the processor's counter, and the mean of all by the time of this
// thread on its processor.
#include <dlfcn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "bench/limiter/bench.h"
#include "limiter/books/ticks.h"
#include "limiter/driver/cuda.h"

namespace {

using tessera::limiter::BenchContainer;
using tessera::limiter::Median;
using LaunchKernel = decltype(&cuLaunchKernel);

LaunchKernel Find(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());  // NOLINT(concurrency-mt-unsafe): one thread
    _exit(1);
  }
  return reinterpret_cast<LaunchKernel>(dlsym(library, "cuLaunchKernel"));
}

double Nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double Chunk(LaunchKernel launch) {
  constexpr int kLaunches = 10'000;
  const double begin = Nanoseconds();
  for (int i = 0; i < kLaunches; ++i) {
    if (launch(reinterpret_cast<CUfunction>(64), 132, 1, 1, 128, 1, 1, 0, nullptr, nullptr,
               nullptr) != CUDA_SUCCESS) {
      _exit(1);
    }
  }
  return (Nanoseconds() - begin) / kLaunches;
}

constexpr int kFew = 4;

// Ticks of a few launches at a time.
void AFewAtATime(LaunchKernel launch, std::vector<double>& ticks) {
  for (int i = 0; i < 1'000; ++i) {
    const uint64_t begin = tessera::limiter::Ticks();
    for (int n = 0; n < kFew; ++n) {
      launch(reinterpret_cast<CUfunction>(64), 132, 1, 1, 128, 1, 1, 0, nullptr, nullptr, nullptr);
    }
    ticks.push_back(static_cast<double>(tessera::limiter::Ticks() - begin));
  }
}

// Of one launch: the mean of the quicker half, which has none that is measured. Not the median, for
// some machines' counter goes in steps of 10 ns.
double Quicker(std::vector<double> ticks) {
  std::sort(ticks.begin(), ticks.end());
  ticks.resize(ticks.size() / 2);
  return std::accumulate(ticks.begin(), ticks.end(), 0.0) /
         static_cast<double>(ticks.size() * kFew);
}

double TicksOfANanosecond() {
  const uint64_t begin = tessera::limiter::Now(), ticks = tessera::limiter::Ticks();
  while (tessera::limiter::Now() - begin < 20'000'000) {
  }
  return static_cast<double>(tessera::limiter::Ticks() - ticks) /
         static_cast<double>(tessera::limiter::Now() - begin);
}

// In a process of its own, for limits are found once.
void Measure(const char* what, const char* percent) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child != 0) {
    waitpid(child, nullptr, 0);
    return;
  }
  setenv("CUDA_DEVICE_SM_LIMIT", percent, 1);  // NOLINT(concurrency-mt-unsafe)
  const LaunchKernel bare = Find(BENCH_BARE_DRIVER), limited = Find(TESSERA_LIBVGPU);
  std::vector<double> without, with, each_without, each_with;
  for (int i = 0; i < 400; ++i) {
    without.push_back(Chunk(bare));
    with.push_back(Chunk(limited));
    AFewAtATime(bare, each_without);
    AFewAtATime(limited, each_with);
  }
  const double ticks = TicksOfANanosecond();
  const double bare_one = Quicker(each_without) / ticks, limited_one = Quicker(each_with) / ticks;
  std::printf("%-32s %8.1f %8.1f %8.1f\n", what, bare_one, limited_one, limited_one - bare_one);
  std::printf("%-32s %8.1f %8.1f %8.1f\n", "  mean, with those measured", Median(without),
              Median(with), Median(with) - Median(without));
  std::fflush(stdout);
  _exit(0);
}

}  // namespace

int main() {
  const BenchContainer container;
  setenv("GPU_CORE_UTILIZATION_POLICY", "force", 1);  // NOLINT(concurrency-mt-unsafe)
  std::printf("%-32s %8s %8s %8s\n", "ns of a launch", "bare", "limited", "added");
  Measure("no limit of time", "0");
  container.Restart();
  std::printf("one launch of 16 is measured:\n");
  Measure("limited, not measured", "50");
  return 0;
}
