// SPDX-License-Identifier: Apache-2.0
// This node's containers with virtual GPUs: what each was granted, and what its region says of its
// use. Reads files that containers write, so no word is trusted. Plain data; any thread; blocks for
// as long as containers can block it (Places::each).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "grant/fraction.h"
#include "os/files.h"
#include "region/region.h"

namespace tessera::monitor {

struct Container {
  std::string pod_name{};  // NAMESPACE/NAME; empty: unknown
  std::string pod{};       // its UID, or NAMESPACE/NAME if only that is known; empty: unknown
  std::string container{};
  std::string grant{};             // empty: not a grant of our agent
  std::string resource{};          // empty: not a grant of our agent
  std::string division{};          // of the resource, as DivisionName; empty: unknown
  std::vector<std::string> ids{};  // its shares by its record; empty: unknown
  std::vector<Fraction> parts{};   // as granted
  std::string file{};              // the path of its region on the host, existing or not
  bool fresh = false;              // its directory is so new that kubelet may not have reported it
  bool ended = false;              // by the agent, kubelet no longer has it
  // Why its state is unknown; then there is no region.
  std::optional<Error> problem{};
  region::Region region{};
  std::chrono::steady_clock::time_point read_at{};
  // Percent of each device's time that it got (Compare), and whether each process lives, if known.
  std::vector<std::optional<double>> got{};
  std::vector<std::optional<bool>> alive{};

  // It has its devices alone.
  bool IsWhole() const { return division == DivisionName(Division::kWhole); }
};

struct Places {
  os::Root root;
  std::set<std::string> directories;  // of the limiter's files, HAMi's included
  // The longest wait for one container. 0: the caller bounds all reads together, by `enter`.
  Duration each{2'000};
  // Called before each container's directory is read. False: it does not answer, and is left out.
  std::function<bool(const std::string& directory)> enter{};
};

// Reads the regions of the granted containers, whose `file` names them, and of all other
// directories below Places::directories. In the order of pods and containers.
Result<std::vector<Container>> ReadContainers(std::vector<Container> granted, const Places& places);

// Sets `got` of each container from an earlier reading of the same region.
void Compare(const std::vector<Container>& before, std::vector<Container>& now);

// The grant's limit of a device. HAMi-core limits by the region, our library by the grant.
uint64_t MemoryLimitOf(const Container& container, const region::Device& device);  // bytes; 0: none
int CoresLimitOf(const Container& container, const region::Device& device);  // percent; 0: none
// The pod's namespace and name; without a known name its UID alone.
std::pair<std::string, std::string> PodNameOf(const Container& container);
// Null: the grant does not name the device.
const Fraction* PartOf(const Container& container, std::string_view device);

}  // namespace tessera::monitor
