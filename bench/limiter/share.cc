// SPDX-License-Identifier: Apache-2.0
// Each container's share of a simulated GPU's time, compared with its limit. Loads have short and
// long kernels, one process or several that wait at times, in one container or more. Each load also
// runs without the library and is scored the same way, to show the worth of a score.
//
// usage: bench_limiter_share [OPTION]... PERCENT[xPROCESSES[+IDLE]][:PERCENT...]...
// A load names each container by its limit, the processes that launch, and those with only a
// context. Limit 0: without the library.
// --kernels US,...: The kernels' lengths; default 20,200,2000,50000.
// --seconds N: Windows of a second, default 5. --warm N: Seconds before the first.
// --jitter PERCENT: Kernels take up to this much longer.
// --slice US: Processes get time slices of that length; else they are served in order of arrival.
// --agent 1: As on a node with the agent, which reports the GPU time of other containers.
// --sms N: The GPU's multiprocessors, and a kernel's blocks; default 132. It changes what a limiter
// reads, not the kernels' time (shares/cell.h).
// Fails if a row with the library misses its limit by more than the goal.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "shares/cell.h"

namespace {

using tessera::limiter::CellContainer;
using tessera::limiter::Mean;
using tessera::limiter::MeasureCell;
using tessera::limiter::Score;
using tessera::limiter::ScoreOf;
using tessera::limiter::Windows;
using Settings = tessera::limiter::CellSettings;
using Containers = std::vector<CellContainer>;

struct Load {
  std::string name;
  Containers containers;
};

std::vector<std::string> Split(const std::string& text, char by) {
  std::istringstream stream(text);
  std::vector<std::string> parts;
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

Load LoadNamed(const char* name) {
  Load load{name, {}};
  for (const std::string& word : Split(name, ':')) {
    CellContainer& container = load.containers.emplace_back();
    std::sscanf(word.c_str(), "%dx%d+%d", &container.percent, &container.processes,
                &container.idle);
  }
  return load;
}

// The shares of loads of one kernel length without the library, each measured once.
class Without {
 public:
  Without(uint64_t us, const Settings& settings) : us_(us), settings_(settings) {
    settings_.warm = 1;  // there is no learning phase
    settings_.agent = false;
  }

  const std::vector<Windows>& Of(Containers containers) {
    std::vector<std::pair<int, int>> processes;
    for (CellContainer& container : containers) {
      container.percent = 0;
      processes.emplace_back(container.processes, container.idle);
    }
    const auto [at, is_new] = measured_.try_emplace(processes);
    if (is_new) at->second = MeasureCell(us_ * 1000, containers, settings_);
    return at->second;
  }

 private:
  const uint64_t us_;
  Settings settings_;
  std::map<std::vector<std::pair<int, int>>, std::vector<Windows>> measured_;
};

// The number of cells, and of those that miss the goal.
struct Misses {
  int cells = 0;
  int missed = 0;
};

bool IsLimited(const CellContainer& container) {
  return container.percent > 0 && container.percent < 100;
}

// Two containers whose limits fill the GPU are judged by their ratio.
bool IsByRatio(const Containers& containers) {
  return containers.size() == 2 && IsLimited(containers[0]) && IsLimited(containers[1]) &&
         containers[0].percent + containers[1].percent >= 100;
}

// Prints one row; true: it meets the goal.
bool Print(const Containers& containers, const std::vector<Windows>& got, Without& without) {
  bool is_near = true;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!IsLimited(containers[i])) {
      std::printf("  %5.1f                      ", Mean(got[i]));
      continue;
    }
    const Score score = ScoreOf(got[i], containers[i].percent, without.Of({containers[i]})[0]);
    std::printf("  %5.1f of %4.1f (%4.1f %+6.1f %%)", score.mean, score.target, score.error,
                score.off);
    is_near &= score.error <= 2 && score.off >= -2;
  }
  if (got.size() == 2 && IsLimited(containers[0]) && IsLimited(containers[1])) {
    const double ratio = Mean(got[0]) / Mean(got[1]);
    const double asked = static_cast<double>(containers[0].percent) / containers[1].percent;
    const double off = (ratio / asked - 1) * 100;
    std::printf("  %5.3f of %5.3f (%+6.1f %%)", ratio, asked, off);
    if (IsByRatio(containers)) is_near &= std::abs(off) <= 5;
  }
  std::printf("%s\n", is_near ? "" : "  *");
  std::fflush(stdout);
  return is_near;
}

void Bench(uint64_t us, const std::vector<Load>& loads, const Settings& settings, Misses* misses) {
  Without without(us, settings);
  for (const Load& load : loads) {
    int most = 0;
    for (const CellContainer& container : load.containers) {
      most = std::max(most, container.processes);
    }
    // The machine has too few processors for many processes of short kernels.
    if (most > 2 && us < 200) continue;
    const auto got = MeasureCell(us * 1000, load.containers, settings);
    std::printf("%6lu us  %-12s", static_cast<unsigned long>(us), load.name.c_str());
    ++misses->cells;
    if (!Print(load.containers, got, without)) ++misses->missed;
    std::printf("           %-12s", "without it");
    Print(load.containers, without.Of(load.containers), without);
  }
}

}  // namespace

int main(int count, char** words) {
  Settings settings;
  std::string kernels = "20,200,2000,50000", turns = "who comes first is served first", jitter;
  int at = 1;
  for (; at + 1 < count && words[at][0] == '-'; at += 2) {
    const std::string option = words[at];
    const std::string value = words[at + 1];
    if (option == "--kernels") kernels = value;
    if (option == "--seconds") settings.seconds = std::max(atoi(value.c_str()), 1);
    if (option == "--warm") settings.warm = std::max(atoi(value.c_str()), 1);
    if (option == "--jitter") jitter = value;
    if (option == "--sms") settings.multiprocessors = std::max(atoi(value.c_str()), 1);
    if (option == "--agent") settings.agent = value == "1";
    if (option == "--slice") turns = "turns of " + value + " us";
    if (option == "--slice") settings.driver += ",slice-us=" + value;
  }
  if (!jitter.empty()) settings.driver += ",jitter=" + jitter;
  std::vector<Load> loads;
  for (; at < count; ++at) loads.push_back(LoadNamed(words[at]));
  std::printf("%% of the time of a GPU of %d multiprocessors, %s%s%s%s; %d seconds after %d\n",
              settings.multiprocessors, turns.c_str(), settings.agent ? ", with the agent" : "",
              jitter.empty() ? "" : ", kernels longer by up to % ", jitter.c_str(),
              settings.seconds, settings.warm);
  std::printf(
      "got of what it was to get (mean error of a second in points, mean off in %% of the "
      "limit), and of two their ratio\n");
  Misses misses;
  for (const std::string& us : Split(kernels, ',')) {
    Bench(std::strtoull(us.c_str(), nullptr, 10), loads, settings, &misses);
  }
  std::printf(
      "%d of %d are not as near as is asked (*): 2 points, and no more than 2 %% of the "
      "limit below; of two that may have all, a ratio within 5 %% as well\n\n",
      misses.missed, misses.cells);
  return misses.missed == 0 ? 0 : 1;
}
