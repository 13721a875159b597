// SPDX-License-Identifier: Apache-2.0
// What share of a simulated GPU's time containers get, beside what they are to get and what they
// get without a limiter: for short and long kernels, launched by one process or several that wait
// for them now and then, in one container or two. The simulation tells how long the GPU was busy
// with whose kernels, in windows of a second.
//
// usage: bench_limiter_share [OPTION]... processes N...
//        bench_limiter_share [OPTION]... containers
//        bench_limiter_share [OPTION]... sizes
//        bench_limiter_share [OPTION]... cell MICROSECONDS PERCENT[xPROCESSES[+IDLE]]...
// --seconds N: windows; --warm N: seconds before the first; --jitter PERCENT: so much longer
// kernels may take; --slice US: processes take turns of that length, else who comes first is served
// first;
// --agent 1: as on a node with the agent, which tells containers how long others had the GPU;
// --sms N: multiprocessors of the GPU, 132 where nothing is said, and blocks of a kernel: what that
// changes is said in shares/cell.h.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "shares/cell.h"

namespace {

using tessera::limiter::CellShare;
using tessera::limiter::MeasureCell;
using Settings = tessera::limiter::CellSettings;

constexpr uint64_t kKernelsUs[] = {20, 200, 2'000, 50'000};

void PrintTitle(const Settings& settings, const char* what) {
  std::printf(
      "%% of the time of a GPU of %d multiprocessors, %s; in brackets the mean error of a "
      "second\n",
      settings.multiprocessors, what);
}

void BenchProcesses(int processes, const Settings& settings) {
  PrintTitle(settings, (std::to_string(processes) + " process(es)").c_str());
  std::printf("%10s %8s", "kernel", "none");
  constexpr int kLimits[] = {10, 30, 50, 70, 90};
  for (const int percent : kLimits) std::printf("      %3d     ", percent);
  std::printf("\n");
  Settings unlimited = settings;
  unlimited.seconds = 1;
  for (const uint64_t us : kKernelsUs) {
    // With many processes of short kernels the machine has not the processors for them.
    if (processes > 2 && us < 200) continue;
    std::printf("%7lu us %8.1f", static_cast<unsigned long>(us),
                MeasureCell(us * 1000, {{0, processes}}, unlimited)[0].mean);
    for (const int percent : kLimits) {
      const CellShare share = MeasureCell(us * 1000, {{percent, processes}}, settings)[0];
      std::printf("  %5.1f (%4.1f)", share.mean, share.error);
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}

void BenchContainers(const Settings& settings) {
  PrintTitle(settings, "two containers");
  std::printf("%10s", "kernel");
  constexpr int kLimits[][2] = {{0, 0}, {30, 60}, {10, 80}, {30, 70}, {10, 90}};
  for (const auto& [a, b] : kLimits) std::printf("         %3d : %-3d        ", a, b);
  std::printf("\n");
  for (const uint64_t us : kKernelsUs) {
    std::printf("%7lu us", static_cast<unsigned long>(us));
    for (const auto& [a, b] : kLimits) {
      const auto shares = MeasureCell(us * 1000, {{a}, {b}}, settings);
      std::printf("  %5.1f (%4.1f) %5.1f (%4.1f)", shares[0].mean, shares[0].error, shares[1].mean,
                  shares[1].error);
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}

// A small GPU and a large one, at 30 percent.
void BenchSizes(Settings settings) {
  constexpr int kPercent = 30;
  for (const int multiprocessors : {40, 188}) {
    settings.multiprocessors = multiprocessors;
    PrintTitle(settings, "1 and 2 processes, limit 30");
    for (const uint64_t us : kKernelsUs) {
      std::printf("%7lu us", static_cast<unsigned long>(us));
      for (const int processes : {1, 2}) {
        const CellShare share = MeasureCell(us * 1000, {{kPercent, processes}}, settings)[0];
        std::printf("  %5.1f (%4.1f)", share.mean, share.error);
        std::fflush(stdout);
      }
      std::printf("\n");
    }
  }
}

// Containers as they are named, and kernels of one length.
void BenchCell(uint64_t us, char** words, int count, const Settings& settings) {
  std::vector<tessera::limiter::CellContainer> containers;
  for (int i = 0; i < count; ++i) {
    tessera::limiter::CellContainer& container = containers.emplace_back();
    std::sscanf(words[i], "%dx%d+%d", &container.percent, &container.processes, &container.idle);
  }
  const auto shares = MeasureCell(us * 1000, containers, settings);
  std::printf("%d multiprocessors  ", settings.multiprocessors);
  for (size_t i = 0; i < shares.size(); ++i) {
    std::printf("%s: %.1f (%.1f)  ", words[i], shares[i].mean, shares[i].error);
  }
  std::printf("\n");
}

}  // namespace

int main(int count, char** words) {
  Settings settings;
  int at = 1;
  for (; at + 1 < count && words[at][0] == '-'; at += 2) {
    const std::string option = words[at];
    const std::string value = words[at + 1];
    if (option == "--seconds") settings.seconds = std::max(atoi(value.c_str()), 1);
    if (option == "--warm") settings.warm = std::max(atoi(value.c_str()), 1);
    if (option == "--jitter") settings.driver += ",jitter=" + value;
    if (option == "--sms") settings.multiprocessors = std::max(atoi(value.c_str()), 1);
    if (option == "--agent") settings.agent = value == "1";
    if (option == "--slice") settings.driver += ",slice-us=" + value;
  }
  if (at < count && std::strcmp(words[at], "containers") == 0) {
    BenchContainers(settings);
    return 0;
  }
  if (at < count && std::strcmp(words[at], "sizes") == 0) {
    BenchSizes(settings);
    return 0;
  }
  if (at + 2 < count && std::strcmp(words[at], "cell") == 0) {
    BenchCell(std::strtoull(words[at + 1], nullptr, 10), words + at + 2, count - at - 2, settings);
    return 0;
  }
  for (++at; at < count; ++at) BenchProcesses(atoi(words[at]), settings);
  return 0;
}
