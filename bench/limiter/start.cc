// SPDX-License-Identifier: Apache-2.0
// What a preloaded library costs every process of a container at its start: nothing, an empty
// library and libvgpu.so in turn, thousands of times, so that each figure has the same machine
// around it. The process is /bin/true, which never touches a GPU.
//
// usage: bench_limiter_start [ROUNDS]
#include <spawn.h>
#include <sys/wait.h>
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

using tessera::limiter::Median;
using Clock = std::chrono::steady_clock;

double MicrosecondsOfOne(const std::string& preload) {
  std::string variable = "LD_PRELOAD=" + preload;
  char name[] = "true";
  char* words[] = {name, nullptr};
  char* environment[] = {preload.empty() ? nullptr : variable.data(), nullptr};
  const auto begun = Clock::now();
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, "/bin/true", nullptr, nullptr, words, environment) != 0 ||
      waitpid(child, &status, 0) != child || status != 0) {
    fprintf(stderr, "/bin/true did not run with %s\n", variable.c_str());
    exit(1);  // NOLINT(concurrency-mt-unsafe): of one thread
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
}

}  // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? atoi(words[1]) : 2000;
  const std::array<std::string, 3> preloads = {"", BENCH_EMPTY_LIBRARY, TESSERA_LIBVGPU};
  std::vector<double> empty, limiter;
  std::vector<double> bare;
  for (int i = 0; i < rounds; ++i) {
    std::array<double, 3> took{};
    for (int k = 0; k < 3; ++k) {
      const auto which = static_cast<size_t>((i + k) % 3);
      took[which] = MicrosecondsOfOne(preloads[which]);
    }
    bare.push_back(took[0]);
    empty.push_back(took[1] - took[0]);
    limiter.push_back(took[2] - took[0]);
  }
  const double of_empty = Median(empty), of_limiter = Median(limiter);
  printf("start of a process           %8.1f us (median of %d)\n", Median(bare), rounds);
  printf("an empty library adds        %8.1f us\n", of_empty);
  printf("libvgpu.so adds              %8.1f us, %.2f times as much (2 asked)\n", of_limiter,
         of_limiter / of_empty);
  return 0;
}
