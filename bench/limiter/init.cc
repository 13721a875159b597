// SPDX-License-Identifier: Apache-2.0
// The limiter's cost in a process's first calls, cuInit and an allocation. In these it reads its
// limits and takes its place in the container's region. Cases: one process, and many that start at
// once. Figures: CPU time of the thread, the median of all processes, and the number of waits for
// another process. Runs without and with the limiter take turns.
//
// usage: bench_limiter_init [PROCESSES]    so many of each kind in each case
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "bench/limiter/bench.h"
#include "limiter/driver/cuda.h"
#include "test/waits/waits.h"

namespace {

using tessera::limiter::BenchContainer;
using tessera::limiter::Library;
using tessera::limiter::Waits;

constexpr int kMost = 64;

struct First {
  double us = 0;
  long waits = 0;
};

// Shared with forked processes.
struct Shared {
  std::atomic<int> ready;
  std::atomic<bool> go;
  First first[kMost];
};

double Microseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

First Begin(const std::string& path, Shared* shared) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) _exit(1);
  void* const bare = dlopen(Library(BENCH_BARE_DRIVER).c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto init = reinterpret_cast<decltype(&cuInit)>(dlsym(bare, "cuInit"));
  const auto allocate = reinterpret_cast<decltype(&cuMemAlloc_v2)>(dlsym(library, "cuMemAlloc_v2"));
  ++shared->ready;
  while (!shared->go) sched_yield();
  const long waits = Waits();
  const double begin = Microseconds();
  CUdeviceptr pointer = 0;
  if (init(0) != CUDA_SUCCESS || allocate(&pointer, 4096) != CUDA_SUCCESS) _exit(2);
  return {Microseconds() - begin, Waits() - waits};
}

std::vector<First> BeginAtOnce(const std::string& path, int processes, Shared* shared) {
  shared->ready = 0;
  shared->go = false;
  for (int i = 0; i < processes; ++i) {
    if (fork() != 0) continue;
    shared->first[i] = Begin(path, shared);
    _exit(0);
  }
  while (shared->ready < processes) sched_yield();
  shared->go = true;
  for (int i = 0; i < processes; ++i) {
    int status = 0;
    if (wait(&status) < 0 || status != 0) {
      std::fprintf(stderr, "a process ended with %d\n", status);
      exit(1);  // NOLINT(concurrency-mt-unsafe): of one thread
    }
  }
  return {shared->first, shared->first + processes};
}

double MedianOf(const std::vector<First>& all) {
  std::vector<double> values;
  for (const First& one : all) values.push_back(one.us);
  return tessera::limiter::Median(std::move(values));
}

// Returns the number of waits.
long Measure(const char* what, int all, int processes, bool is_made_anew,
             const BenchContainer& container, Shared* shared) {
  std::vector<First> without;
  std::vector<First> with;
  for (int round = 0; round < all / processes; ++round) {
    for (const First& one : BeginAtOnce(Library(BENCH_BARE_DRIVER), processes, shared)) {
      without.push_back(one);
    }
    for (const First& one : BeginAtOnce(Library(TESSERA_LIBVGPU), processes, shared))
      with.push_back(one);
    if (is_made_anew) container.Restart();
  }
  long waits = 0;
  for (const First& one : with) waits += one.waits;
  std::printf("%-34s %8.1f %8.1f %8.1f %8ld\n", what, MedianOf(without), MedianOf(with),
              MedianOf(with) - MedianOf(without), waits);
  return waits;
}

}  // namespace

int main(int count, char** words) {
  const int all = count > 1 ? std::atoi(words[1]) : 640;
  const BenchContainer container;
  setenv("CUDA_DEVICE_MEMORY_LIMIT", "64g", 1);  // NOLINT(concurrency-mt-unsafe)
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto* const shared = new (memory) Shared{};
  std::printf("%-34s %8s %8s %8s %8s\n", "us of a process's first calls", "bare", "limited",
              "added", "waits");
  long waits = Measure("1, which makes the region", all, 1, true, container, shared);
  waits += Measure("1", all, 1, false, container, shared);
  waits += Measure("8 at once", all, 8, false, container, shared);
  waits += Measure("64 at once", all, kMost, false, container, shared);
  return waits == 0 ? 0 : 1;
}
