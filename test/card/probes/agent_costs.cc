// SPDX-License-Identifier: Apache-2.0
// What the agent costs with this machine's driver: its start up to kubelet's first list, kubelet's
// calls, what it uses of a processor while nothing happens, and memory. TESSERA_BENCH_BEFORE names
// its program, and the arguments the GPUs by their UUIDs.
//
// usage: agent_costs SECONDS UUID...     SECONDS: for how long nothing happens
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "bench/wire/peer.h"
#include "card/row.h"

namespace tessera::card {
namespace {

using bench::Clock;
using bench::Millis;
using bench::Subject;

constexpr int kStarts = 5;
constexpr double kLongestStarts = 5000;  // ms of all of them: a driver may take seconds
constexpr int kCalls = 200;
constexpr std::chrono::seconds kUntilRest{3};

bench::MakeServed Gpus(const std::vector<std::string>& uuids, int shares) {
  return [uuids, shares](const std::string&) {
    bench::Served served{
        .resource = "nvidia.com/gpu",
        .variable = "NVIDIA_VISIBLE_DEVICES",
        .shares = shares,
        .section =
            fmt::format("{}strategies: [envvar], nvidia: {{}}",
                        shares == 1 ? "" : fmt::format("policy: replicas, replicas: {}, ", shares)),
        .settings = ""};
    for (const std::string& uuid : uuids) {
      for (int share = 0; share < shares; ++share) {
        served.ids.push_back(shares == 1 ? uuid : fmt::format("{}::{}", uuid, share));
      }
    }
    return served;
  };
}

template <class Call>
std::vector<double> Times(Call call) {
  std::vector<double> times;
  for (int i = 0; i < kCalls; ++i) {
    const auto begin = Clock::now();
    call();
    times.push_back(Millis(Clock::now() - begin).count());
  }
  return times;
}

void Measure(const std::vector<std::string>& uuids, double rest_s) {
  for (const int shares : {1, 10}) {
    const std::string of = shares == 1 ? "" : fmt::format(", {} shares a GPU", shares);
    std::vector<double> starts;
    for (double all = 0; starts.size() < kStarts && all < kLongestStarts; all += starts.back()) {
      Subject agent(Subject::Kind::kBare, Gpus(uuids, shares));
      starts.push_back(agent.Start().count());
    }
    Figure("agent: exec to first list" + of, "ms", starts);
    Subject agent(Subject::Kind::kBare, Gpus(uuids, shares));
    agent.Start();
    const auto& ids = agent.served().ids;
    Figure("agent: Allocate" + of, "ms", Times([&] { agent.connection().Allocate(0); }));
    Figure("agent: GetPreferredAllocation of 1" + of, "ms",
           Times([&] { (void)agent.connection().Prefer(ids, 1); }));
    if (shares > 1) continue;
    std::this_thread::sleep_for(kUntilRest);
    const double cpu = agent.cpu_ms(), wakeups = agent.wakeups();
    const auto begin = Clock::now();
    std::this_thread::sleep_for(std::chrono::duration<double>(rest_s));
    const double hours =
        std::chrono::duration<double, std::ratio<3600>>(Clock::now() - begin).count();
    const std::string note = fmt::format("from {:.0f} s", hours * 3600);
    Figure("agent: processor time at rest", "ms an hour", {(agent.cpu_ms() - cpu) / hours}, note);
    Figure("agent: wakeups at rest", "an hour", {(agent.wakeups() - wakeups) / hours}, note);
    Figure("agent: memory", "MB", {agent.rss_mb()});
    Figure("agent: files open", "", {static_cast<double>(agent.fds())});
  }
}

}  // namespace
}  // namespace tessera::card

int main(int count, char** words) {
  if (count < 3) {
    fmt::print(stderr, "usage: agent_costs SECONDS UUID...\n");
    return 2;
  }
  tessera::card::Measure({words + 2, words + count}, std::stod(words[1]));
  return 0;
}
