// SPDX-License-Identifier: Apache-2.0
// Compute time among containers. A process cannot distinguish a long kernel from one that waits for
// a neighbour. So the agent writes into each container's region how long other containers had the
// GPU (limiter/contract.h). Regions are read and written in place, and no word is trusted: a
// container that writes nonsense can only misattribute time that has passed.
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

// The regions, and what was written to them. Owned by a worker of GrantTimesThread. One thread,
// which a container may block.
class GrantTimes {
 public:
  explicit GrantTimes(std::shared_ptr<RegionVisits> visits = nullptr)
      : visits_(std::move(visits)) {}

  // Adds the region of a container with these GPUs, in the container's order, under the grant's
  // name. If the region is missing or is not as this agent makes them (HAMi-core's), the
  // container's GPU time is unknown. Then no container on its GPUs gets a report.
  void Add(const std::string& grant, const std::string& directory, const std::string& file,
           const std::vector<std::string>& devices);
  // Treats the grant as one with unknown GPU time, because no thread reads its region.
  void LeaveOut(const std::string& grant, const std::vector<std::string>& devices);
  void Remove(const std::string& grant);
  bool empty() const { return regions_.empty(); }

  // Reads what each container was charged since the last call, writes it to the others, and runs
  // calibrations. Returns the time until the next call: shorter while containers share a GPU.
  // `now`: ns of the monotonic clock.
  Duration UpdateRegions(uint64_t now);

  static constexpr Duration kShared{100};
  static constexpr Duration kAlone{1'000};

 private:
  struct Device {
    std::string uuid;
    uint64_t used = 0;        // ns, as last read
    uint64_t latest = 0;      // ns of it since the last call
    uint64_t others = 0;      // ns that others had, in all
    uint64_t active = 0;      // when it last used the GPU
    uint64_t charged_at = 0;  // when it was last charged
    uint64_t looked_at = 0;   // when the displayed use of its processes was last read,
    uint64_t shown = 0;       // and that use, in percent
    bool is_shown = true;     // HAMi's monitor sees it as busy
  };
  struct TrackedRegion {
    FollowedRegion file;
    std::vector<Device> devices;  // by their place in the region
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
  std::map<std::string, std::vector<std::string>> unknown_;  // by grant: GPUs with unknown time
  uint64_t told_at_ = 0;
  uint64_t checked_at_ = 0;
  bool is_any_shared_ = false;
  Calibrations calibrations_;
};

}  // namespace tessera
