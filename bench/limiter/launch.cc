// SPDX-License-Identifier: Apache-2.0
// What the limiter adds to cuLaunchKernel, over a driver that costs next to nothing, without a
// limit of time and with one that never holds a launch up. Time of this thread on its processor,
// the median of chunks of a few launches, of which most are not measured; bare and limited chunks
// take turns. `mean` has those in it that are measured.
#include <dlfcn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "limiter/driver/cuda.h"

namespace {

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

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
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
  std::vector<double> without, with;
  for (int i = 0; i < 400; ++i) {
    without.push_back(Chunk(bare));
    with.push_back(Chunk(limited));
  }
  std::printf("%-32s %8.1f %8.1f %8.1f\n", what, Median(without), Median(with),
              Median(with) - Median(without));
  std::fflush(stdout);
  _exit(0);
}

}  // namespace

int main() {
  std::string directory = "/tmp/bench-limiter-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return 1;  // NOLINT(concurrency-mt-unsafe)
  const std::string region = directory + "/x.cache";
  setenv("CUDA_DEVICE_MEMORY_SHARED_CACHE", region.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  setenv("GPU_CORE_UTILIZATION_POLICY", "force", 1);             // NOLINT(concurrency-mt-unsafe)
  std::printf("%-32s %8s %8s %8s\n", "ns of a launch", "bare", "limited", "added");
  Measure("no limit of time", "0");
  unlink(region.c_str());
  Measure("limited, one of 16 measured", "50");
  unlink(region.c_str());
  rmdir(directory.c_str());
  return 0;
}
