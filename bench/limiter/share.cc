// SPDX-License-Identifier: Apache-2.0
// What share of a simulated GPU's time containers get, beside what they are to get: for short and
// long kernels, launched by one process or several that wait for them now and then, in one
// container or more. Below each load is what it gets without the library, scored as the library
// is, so that one sees what a score is worth.
//
// usage: bench_limiter_share [OPTION]... PERCENT[xPROCESSES[+IDLE]][:PERCENT...]...
// Of a load, each container is named by its limit, the processes that launch and those that only
// have a context; a limit of 0: without the library.
// --kernels US,...: how long they take, 20,200,2000,50000 where nothing is said; --seconds N:
// windows; --warm N: seconds before the first; --jitter PERCENT: so much longer kernels may take;
// --slice US: processes take turns of that length, else who comes first is served first; --agent 1:
// as on a node with the agent, which tells containers how long others had the GPU; --sms N:
// multiprocessors of the GPU, 132 where nothing is said, and blocks of a kernel: what that changes
// is said in shares/cell.h. It fails where a row with the library is not as near as is asked.
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

// What loads of one kernel get without the library, each measured once.
class Without {
 public:
  Without(uint64_t us, const Settings& settings) : us_(us), settings_(settings) {
    settings_.warm = 1;  // nothing is learned
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

// How many cells are not as near to their limits as is asked.
struct Misses {
  int cells = 0;
  int missed = 0;
};

bool IsLimited(const CellContainer& container) {
  return container.percent > 0 && container.percent < 100;
}

// Two that may have all of the GPU together are asked for their ratio.
bool IsByRatio(const Containers& containers) {
  return containers.size() == 2 && IsLimited(containers[0]) && IsLimited(containers[1]) &&
         containers[0].percent + containers[1].percent >= 100;
}

// Of one row: whether it is as near as is asked.
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
    // With many processes of short kernels the machine has not the processors for them.
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
