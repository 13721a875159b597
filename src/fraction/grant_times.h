// SPDX-License-Identifier: Apache-2.0
// Compute time among containers: how long other containers had a GPU is a word that the agent
// writes into each one's region (limiter/contract.h), for a process cannot tell a kernel that takes
// long from one that waits for a neighbour's. Read and written in place, and no word of it is
// trusted: a container that writes nonsense into its region changes what its neighbours' waiting is
// taken for, within the time that passed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "fraction/calibrations.h"
#include "fraction/followed_region.h"

namespace tessera {

// The regions, and what they have been told. One thread, which a container may hold up.
class GrantTimes {
 public:
  explicit GrantTimes(std::shared_ptr<RegionVisits> visits = nullptr)
      : visits_(std::move(visits)) {}

  // A region of a container with these GPUs, in the order in which it counts them, by the grant's
  // name. Of one that is not there, or not as this agent makes them, as HAMi-core's, nobody knows
  // how long its container has the GPUs: then their containers are told nothing.
  void Add(const std::string& grant, const std::string& directory, const std::string& file,
           const std::vector<std::string>& devices);
  // Of one that nobody looks at, nobody knows that either.
  void LeaveOut(const std::string& grant, const std::vector<std::string>& devices);
  void Remove(const std::string& grant);
  bool empty() const { return regions_.empty(); }

  // Reads what each container was charged since the last time, and tells the others; and has
  // kernels calibrated. How long until the next time: shorter while containers share a GPU. `now`:
  // ns of the monotonic clock.
  Duration UpdateRegions(uint64_t now);

  static constexpr Duration kShared{100};
  static constexpr Duration kAlone{1'000};

 private:
  struct Device {
    std::string uuid;
    uint64_t used = 0;        // ns, as last read
    uint64_t latest = 0;      // of it, since the last time
    uint64_t others = 0;      // ns, in all
    uint64_t active = 0;      // when it last had anything of it
    uint64_t charged_at = 0;  // when it was last charged anything
    uint64_t looked_at = 0;   // when it was last read what its processes are shown to have,
    uint64_t shown = 0;       // and what: percent
    bool is_shown = true;     // as busy with it, to HAMi's monitor
  };
  struct TrackedRegion {
    FollowedRegion file;
    std::vector<Device> devices;  // by place
  };
  static void ReadRegion(TrackedRegion& region, uint64_t now, uint64_t passed);
  static uint64_t ReadLatest(const FollowedRegion& file, size_t place, Device& device, uint64_t now,
                             uint64_t passed);
  void TellOthers(uint64_t now);
  void LetGoOfWaste(uint64_t now);
  std::set<std::string> UnknownGpus() const;
  Calibrations::Gpus Gpus(uint64_t now) const;

  const std::shared_ptr<RegionVisits> visits_;
  std::map<std::string, TrackedRegion> regions_;
  std::map<std::string, std::vector<std::string>> unknown_;  // GPUs of regions that none follows
  uint64_t told_at_ = 0;
  uint64_t checked_at_ = 0;
  bool is_any_shared_ = false;
  Calibrations calibrations_;
};

}  // namespace tessera
