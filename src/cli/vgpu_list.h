// SPDX-License-Identifier: Apache-2.0
// The containers of this node that have virtual GPUs: by the agent's records of its grants, and by
// the directories that the limiting library's files are in, HAMi's included. One thread; waits as
// long as is measured.
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
  std::string pod_name{};  // NAMESPACE/NAME; empty: no agent says it
  std::string pod{};       // its UID, or NAMESPACE/NAME where only that is known; empty: unknown
  std::string container{};
  std::string grant{};             // empty: it is no grant of an agent of ours
  std::string resource{};          // likewise
  std::vector<std::string> ids{};  // its shares by its record; empty: nobody says them
  std::vector<Fraction> parts{};   // by its record
  std::string file{};              // its region on the host, or where one would be
  bool fresh = false;              // its directory is so new that nobody need have told of it
  bool ended = false;              // the agent says that kubelet has it no more
  // Why nothing is known of what it does; then there is no region.
  std::optional<Error> problem{};
  region::Region region{};
  // Percent of each device's time that it got, and whether each process lives, as far as is known.
  std::vector<std::optional<double>> got{};
  std::vector<std::optional<bool>> alive{};
};

void Sleep(Duration span);

struct VgpuSources {
  os::Root root;
  std::set<std::string> directories;  // of the library's files, as the configuration has them
  std::string state_dir;
  Duration measured{2'000};  // for so long; 0: what containers get is not measured
  std::function<void(Duration)> wait = Sleep;  // what a test puts in its place charges meanwhile
};

// By pod and container.
Result<std::vector<VgpuContainer>> ListVgpus(const VgpuSources& sources);

}  // namespace tessera::cli
