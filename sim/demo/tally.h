// SPDX-License-Identifier: Apache-2.0
// Counts events for the summary at the end. Pure over observations; one thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "json/json.h"
#include "sim/demo/laws.h"
#include "sim/demo/observation.h"

namespace tessera::demo {

struct Summary {
  Duration took{};
  int admitted = 0;
  std::map<std::string, int> refused;  // message without its numbers -> pods
  int ended = 0;
  int started = 0;    // containers
  int restarted = 0;  // containers, also counted in `started`
  int start_failures = 0;
  int grants = 0;
  int wrong_grants = 0;
  int lists = 0;
  int expectations = 0;
  std::vector<std::string> failures;  // broken laws and unmet expectations, in order
  std::map<Law, int> checked;
  std::set<Law> broken;
  // The times from its start until every resource was listed again.
  std::vector<Duration> kubelet_recoveries;
  std::vector<Duration> agent_recoveries;

  bool good() const { return failures.empty(); }
};

class Tally {
 public:
  void Count(const Observation& observation);
  void Count(const Breach& breach);
  // The scenario could not go on.
  void Fail(std::string text) { summary_.failures.push_back(std::move(text)); }
  Summary Finish(Duration took, const std::map<Law, int>& checked) const;

 private:
  // A process that went down, and the resources that it must list again.
  struct Recovery {
    Duration since{};
    std::set<std::string> missing;  // resources
  };
  void CountPod(const PodTried& tried);
  void CountTold(Duration at, const KubeletTold& told);
  void Begin(std::vector<Recovery>& open, Duration at);
  static void Seen(std::vector<Recovery>& open, std::vector<Duration>& done,
                   const std::string& resource, Duration at);

  Summary summary_;
  std::set<std::string> listed_;  // configured resources that were ever listed
  int agents_ = 0;                // running now
  bool agent_was_up_ = false;
  bool kubelet_was_up_ = false;
  std::vector<Recovery> kubelet_open_;
  std::vector<Recovery> agent_open_;
};

// Several lines for people, each ended by a newline.
std::string SummaryText(const Summary& summary);
json::Object SummaryJson(const Summary& summary);

}  // namespace tessera::demo
