// SPDX-License-Identifier: Apache-2.0
// The cost of a preloaded library for a process that never uses a GPU: at its start (/bin/true),
// and for lookups and calls of functions after it. Runs without a library, with an empty one and
// with libvgpu.so take turns many times. So each figure has the same conditions.
//
// usage: bench_limiter_start [ROUNDS]
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/limiter/bench.h"

namespace {

using tessera::limiter::Library;
using tessera::limiter::Median;
using Clock = std::chrono::steady_clock;

const std::array<std::string, 3> kPreloads = {"", Library(BENCH_EMPTY_LIBRARY),
                                              Library(TESSERA_LIBVGPU)};

void Run(const char* program, const char* word, const std::string& preload) {
  std::string variable = "LD_PRELOAD=" + preload;
  char* words[] = {const_cast<char*>(program), const_cast<char*>(word), nullptr};
  char* environment[] = {preload.empty() ? nullptr : variable.data(), nullptr};
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, program, nullptr, nullptr, words, environment) != 0 ||
      waitpid(child, &status, 0) != child || status != 0) {
    fprintf(stderr, "%s did not run with %s\n", program, variable.c_str());
    exit(1);  // NOLINT(concurrency-mt-unsafe): of one thread
  }
}

double StartOf(const std::string& preload) {
  const auto begun = Clock::now();
  Run("/bin/true", nullptr, preload);
  return std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
}

// The times of the three cases, and the additions of the two libraries.
class Turns {
 public:
  void Add(const std::array<double, 3>& took) {
    none_.push_back(took[0]);
    empty_.push_back(took[1] - took[0]);
    limiter_.push_back(took[2] - took[0]);
  }
  void Print(const char* what) const {
    printf("%-32s %10.1f %16.1f %16.1f", what, Median(none_), Median(empty_), Median(limiter_));
  }
  double times() const { return Median(limiter_) / Median(empty_); }

 private:
  std::vector<double> none_, empty_, limiter_;
};

// Times of one call, in ns.
struct Calls {
  double lookup;
  double call;
};

template <typename Call>
double Nanoseconds(Call call) {
  constexpr int kCalls = 20'000;
  timespec begun, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
  for (int i = 0; i < kCalls; ++i) call();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (static_cast<double>(now.tv_sec - begun.tv_sec) * 1e9 +
          static_cast<double>(now.tv_nsec - begun.tv_nsec)) /
         kCalls;
}

// The program that never uses a GPU. Its caller reads the times from standard output.
int WithoutAGpu() {
  bool found = true;
  const Calls calls{
      .lookup = Nanoseconds([&] { found &= dlsym(RTLD_DEFAULT, "malloc") != nullptr; }),
      .call = Nanoseconds([&] { found &= strtol("7", nullptr, 10) == 7; })};
  const bool told = write(STDOUT_FILENO, &calls, sizeof(calls)) == sizeof(calls);
  return found && told ? 0 : 1;
}

// `pipe_end`: the pipe end with the program's output.
Calls CallsOf(const std::string& preload, int pipe_end) {
  Run("/proc/self/exe", "without-a-gpu", preload);
  Calls calls{};
  if (read(pipe_end, &calls, sizeof(calls)) != sizeof(calls)) _exit(1);
  return calls;
}

void BenchStart(int rounds) {
  Turns turns;
  for (int i = 0; i < rounds; ++i) {
    std::array<double, 3> took{};
    for (int k = 0; k < 3; ++k) {
      const auto which = static_cast<size_t>((i + k) % 3);
      took[which] = StartOf(kPreloads[which]);
    }
    turns.Add(took);
  }
  turns.Print("start of a process, us");
  printf(", %.2f times as much (2 asked)\n", turns.times());
}

void BenchAfter(int rounds) {
  // The program's standard output is a pipe during the rounds.
  fflush(stdout);
  int ends[2];
  const int output = dup(STDOUT_FILENO);
  if (output < 0 || pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0) _exit(1);
  Turns lookups, calls;
  for (int i = 0; i < rounds; ++i) {
    std::array<double, 3> lookup{}, call{};
    for (int k = 0; k < 3; ++k) {
      const auto which = static_cast<size_t>((i + k) % 3);
      const Calls took = CallsOf(kPreloads[which], ends[0]);
      lookup[which] = took.lookup;
      call[which] = took.call;
    }
    lookups.Add(lookup);
    calls.Add(call);
  }
  dup2(output, STDOUT_FILENO);
  lookups.Print("dlsym(\"malloc\") after it, ns");
  calls.Print("\na call of libc's after it, ns");
  printf("\n");
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::string(words[1]) == "without-a-gpu") return WithoutAGpu();
  const int rounds = count > 1 ? atoi(words[1]) : 2000;
  printf("%-32s %10s %16s %16s\n", "medians", "nothing", "empty one adds", "libvgpu.so adds");
  BenchStart(rounds);
  BenchAfter(std::max(rounds / 20, 1));
  return 0;
}
