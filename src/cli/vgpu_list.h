// SPDX-License-Identifier: Apache-2.0
// Lists this node's containers with virtual GPUs. Sources are the agent's records of grants, and
// the directories of the limiter's files, HAMi's included. One thread; blocks for the time of the
// measurement.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "grant/fraction.h"
#include "os/files.h"
#include "region/region.h"

namespace tessera::cli {

struct VgpuContainer {
  std::string pod_name{};  // NAMESPACE/NAME; empty: the agent did not name it
  std::string pod{};       // its UID, or NAMESPACE/NAME if only that is known; empty: unknown
  std::string container{};
  std::string grant{};             // empty: not a grant of our agent
  std::string resource{};          // empty: not a grant of our agent
  std::vector<std::string> ids{};  // its shares by its record; empty: unknown
  std::vector<Fraction> parts{};   // by its record
  std::string file{};              // the path of its region on the host, existing or not
  bool fresh = false;              // its directory is so new that kubelet may not have reported it
  bool ended = false;              // by the agent, kubelet no longer has it
  // Why its state is unknown; then there is no region.
  std::optional<Error> problem{};
  region::Region region{};
  // Percent of each device's time that it got, and whether each process lives, if known.
  std::vector<std::optional<double>> got{};
  std::vector<std::optional<bool>> alive{};
};

void Sleep(Duration span);

struct VgpuSources {
  os::Root root;
  std::set<std::string> directories;  // of the limiter's files, by the configuration
  std::string state_dir;
  Duration measured{2'000};  // duration of the measurement; 0: none
  std::function<void(Duration)> wait =
      Sleep;  // a test's replacement charges time instead of a sleep
};

// In the order of pods and containers.
Result<std::vector<VgpuContainer>> ListVgpus(const VgpuSources& sources);

}  // namespace tessera::cli
