// SPDX-License-Identifier: Apache-2.0
// Lists this node's containers with virtual GPUs. Sources are the agent's records of grants, and
// the directories of the limiter's files, HAMi's included. One thread; blocks for the time of the
// measurement.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "monitor/containers.h"
#include "os/files.h"

namespace tessera::cli {

using VgpuContainer = monitor::Container;

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
