// SPDX-License-Identifier: Apache-2.0
// The limiter's cost in cuMemAlloc, cuMemFree and cuMemGetInfo, over a driver that takes almost no
// time. Cases: few and many live allocations, of which the newest or any is freed; few and many
// processes in the container. Figures are CPU times of this thread: the median of chunks of a
// thousand pairs. Bare and limited chunks take turns.
//
// usage: bench_limiter_memory [TURNS]
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
using tessera::limiter::Library;
using tessera::limiter::Median;
using tessera::limiter::Region;

struct Functions {
  explicit Functions(const std::string& path) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
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

// The time of one call, in ns.
template <typename Call>
double Chunk(Call call) {
  constexpr int kCalls = 1'000;
  const double begin = Nanoseconds();
  for (int i = 0; i < kCalls; ++i) call();
  return (Nanoseconds() - begin) / kCalls;
}

// kSmall shares a chunk of 2 MiB with other blocks; kLarge has whole chunks.
constexpr size_t kSmall = 4096;
constexpr size_t kLarge = size_t{4} << 20;

struct Load {
  size_t live;
  size_t bytes = kSmall;
  bool at_random = false;  // else the newest is freed first
};

// Numbers below `end`, the same in every run: xorshift.
std::vector<size_t> Numbers(size_t end) {
  std::vector<size_t> numbers(size_t{1} << 16);
  uint64_t state = 88172645463325252;
  for (size_t& number : numbers) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    number = state % end;
  }
  return numbers;
}

// The live allocations of one library, with the pair of calls that replaces one.
class Held {
 public:
  Held(const Functions& functions, const Load& load)
      : functions_(functions), load_(load), held_(load.live), places_(Numbers(load.live)) {
    for (CUdeviceptr& pointer : held_) Expect(functions_.allocate(&pointer, load_.bytes));
  }
  ~Held() {
    for (const CUdeviceptr pointer : held_) Expect(functions_.free(pointer));
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  double Pairs() {
    return Chunk([this] {
      CUdeviceptr& pointer =
          load_.at_random ? held_[places_[next_++ % places_.size()]] : held_.back();
      Expect(functions_.free(pointer));
      Expect(functions_.allocate(&pointer, load_.bytes));
    });
  }

 private:
  const Functions& functions_;
  const Load load_;
  std::vector<CUdeviceptr> held_;
  const std::vector<size_t> places_;
  size_t next_ = 0;
};

double Infos(const Functions& functions) {
  return Chunk([&] {
    size_t free = 0;
    size_t total = 0;
    Expect(functions.get_info(&free, &total));
  });
}

// Runs bare and limited chunks in turns. Returns medians, also of the difference in each turn.
template <typename Chunks>
void Compare(const char* what, int turns, Chunks bare, Chunks limited) {
  std::vector<double> without, with, added;
  for (int i = 0; i < turns; ++i) {
    without.push_back(bare());
    with.push_back(limited());
    added.push_back(with.back() - without.back());
  }
  std::printf("%-36s %8.1f %8.1f %8.1f\n", what, Median(without), Median(with), Median(added));
}

void Measure(const char* what, int turns, const Functions& bare, const Functions& limited,
             const Load& load) {
  Held without(bare, load), with(limited, load);
  const auto chunk = [](Held* held) { return [held] { return held->Pairs(); }; };
  Compare(what, turns, chunk(&without), chunk(&with));
}

void MeasureInfos(int turns, const Functions& bare, const Functions& limited) {
  const auto chunk = [](const Functions* functions) {
    return [functions] { return Infos(*functions); };
  };
  Compare("cuMemGetInfo", turns, chunk(&bare), chunk(&limited));
}

// A process that owns `count` slots.
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
      region->accounting.slots[slot].owner = static_cast<uint64_t>(getpid());
    }
    region->accounting.slots_used = count + 1;
    if (write(ready[1], "", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte;
  if (read(ready[0], &byte, 1) != 1) _exit(1);
  return pid;
}

}  // namespace

int main(int count, char** words) {
  const int turns = count > 1 ? std::atoi(words[1]) : 400;
  const BenchContainer container;
  setenv("CUDA_DEVICE_MEMORY_LIMIT", "1024g", 1);  // NOLINT(concurrency-mt-unsafe)
  const Functions bare(Library(BENCH_BARE_DRIVER));
  const Functions limited(Library(TESSERA_LIBVGPU));
  std::printf("%-36s %8s %8s %8s\n", "ns of a pair of free and alloc", "bare", "limited", "added");
  constexpr size_t kMany = 100'000;
  const auto measure = [&](const char* what, const Load& load) {
    Measure(what, turns, bare, limited, load);
  };
  measure("1 live", {1});
  measure("1,000 live", {1'000});
  measure("1,000 live, freed at random", {1'000, kSmall, true});
  measure("100,000 live", {kMany});
  measure("100,000 live, freed at random", {kMany, kSmall, true});
  measure("of 4 MiB, 1 live", {1, kLarge});
  measure("of 4 MiB, 100,000 live", {kMany, kLarge});
  measure("of 4 MiB, 100,000, freed at random", {kMany, kLarge, true});
  MeasureInfos(turns, bare, limited);
  const pid_t others = OwnSlots(container.region(), 1'000);
  std::printf("with 1,000 processes in the container:\n");
  measure("1 live", {1});
  measure("1,000 live", {1'000});
  measure("100,000 live", {kMany});
  measure("100,000 live, freed at random", {kMany, kSmall, true});
  MeasureInfos(turns, bare, limited);
  kill(others, SIGKILL);
  waitpid(others, nullptr, 0);
  return 0;
}
