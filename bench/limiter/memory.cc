// SPDX-License-Identifier: Apache-2.0
// What the limiter adds to cuMemAlloc and cuMemFree, and to cuMemGetInfo, over a driver that costs
// next to nothing: with few and many pieces held, and with few and many processes in the container.
// Time of this thread on its processor, the median of chunks of a thousand pairs; bare and limited
// chunks take turns.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/limiter/bench.h"
#include "limiter/contract.h"
#include "limiter/driver/cuda.h"

namespace {

using tessera::limiter::BenchContainer;
using tessera::limiter::Median;
using tessera::limiter::Region;

struct Functions {
  explicit Functions(const char* path) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());  // NOLINT(concurrency-mt-unsafe): one thread
      _exit(1);
    }
    allocate = reinterpret_cast<decltype(allocate)>(dlsym(library, "cuMemAlloc_v2"));
    free = reinterpret_cast<decltype(free)>(dlsym(library, "cuMemFree_v2"));
    get_info = reinterpret_cast<decltype(get_info)>(dlsym(library, "cuMemGetInfo_v2"));
  }
  decltype(&cuMemAlloc_v2) allocate;
  decltype(&cuMemFree_v2) free;
  decltype(&cuMemGetInfo_v2) get_info;
};

double Nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void Expect(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "a call ended with %d\n", result);
  _exit(1);
}

// Of one, in ns.
template <typename Call>
double Chunk(Call call) {
  constexpr int kCalls = 1'000;
  const double begin = Nanoseconds();
  for (int i = 0; i < kCalls; ++i) call();
  return (Nanoseconds() - begin) / kCalls;
}

// Of a block that shares a chunk of 2 MiB with others, or of whole ones.
constexpr size_t kSmall = 4096;
constexpr size_t kLarge = size_t{4} << 20;

double Pairs(const Functions& functions, size_t bytes) {
  return Chunk([&] {
    CUdeviceptr pointer = 0;
    Expect(functions.allocate(&pointer, bytes));
    Expect(functions.free(pointer));
  });
}
double SmallPairs(const Functions& functions) {
  return Pairs(functions, kSmall);
}
double LargePairs(const Functions& functions) {
  return Pairs(functions, kLarge);
}

double Infos(const Functions& functions) {
  return Chunk([&] {
    size_t free = 0;
    size_t total = 0;
    Expect(functions.get_info(&free, &total));
  });
}

void Measure(const char* what, const Functions& bare, const Functions& limited, size_t live,
             double (*chunk)(const Functions&), size_t bytes = kSmall) {
  std::vector<CUdeviceptr> held(live);
  for (CUdeviceptr& pointer : held) Expect(limited.allocate(&pointer, bytes));
  std::vector<double> without;
  std::vector<double> with;
  for (int i = 0; i < 400; ++i) {
    without.push_back(chunk(bare));
    with.push_back(chunk(limited));
  }
  for (const CUdeviceptr pointer : held) Expect(limited.free(pointer));
  std::printf("%-32s %8.1f %8.1f %8.1f\n", what, Median(without), Median(with),
              Median(with) - Median(without));
}

// One that owns slots for many.
pid_t OwnSlots(const std::string& path, uint32_t count) {
  int ready[2];
  if (pipe(ready) != 0) _exit(1);
  const pid_t pid = fork();
  if (pid == 0) {
    const int file = open(path.c_str(), O_RDWR);
    auto* const region = static_cast<Region*>(
        mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    for (uint32_t slot = 1; slot <= count; ++slot) {
      struct flock lock{};
      lock.l_type = F_WRLCK;
      lock.l_start = tessera::limiter::kLocks + slot;
      lock.l_len = 1;
      if (fcntl(file, F_OFD_SETLK, &lock) != 0) _exit(1);
      region->books.slots[slot].owner = static_cast<uint64_t>(getpid());
    }
    region->books.slots_used = count + 1;
    if (write(ready[1], "", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte;
  if (read(ready[0], &byte, 1) != 1) _exit(1);
  return pid;
}

}  // namespace

int main() {
  const BenchContainer container;
  setenv("CUDA_DEVICE_MEMORY_LIMIT", "1024g", 1);  // NOLINT(concurrency-mt-unsafe)
  const Functions bare(BENCH_BARE_DRIVER);
  const Functions limited(TESSERA_LIBVGPU);
  std::printf("%-32s %8s %8s %8s\n", "ns of a pair of alloc and free", "bare", "limited", "added");
  Measure("1 live", bare, limited, 0, SmallPairs);
  Measure("1,000 live", bare, limited, 999, SmallPairs);
  Measure("100,000 live", bare, limited, 99'999, SmallPairs);
  Measure("of 4 MiB, 1 live", bare, limited, 0, LargePairs, kLarge);
  Measure("of 4 MiB, 100,000 live", bare, limited, 99'999, LargePairs, kLarge);
  const pid_t others = OwnSlots(container.region(), 1'000);
  Measure("1 live, 1,000 processes", bare, limited, 0, SmallPairs);
  Measure("1,000 live, 1,000 processes", bare, limited, 999, SmallPairs);
  Measure("cuMemGetInfo, 1,000 processes", bare, limited, 999, Infos);
  kill(others, SIGKILL);
  waitpid(others, nullptr, 0);
  return 0;
}
