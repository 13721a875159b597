// SPDX-License-Identifier: Apache-2.0
// Calibrations: moments in which one container's kernel is measured while no other work runs on the
// GPU (limiter/time/calibration.h). The container asks in its region. All containers of the GPU are
// held; once none of their work runs, it may launch. Holding takes at most a fiftieth of the time,
// whoever asks. If the agent ends in the middle, the words it wrote expire. Owned by GrantTimes.
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fraction/followed_region.h"

namespace tessera {

class Calibrations {
 public:
  // A container on a GPU. The region outlives the call.
  struct Container {
    std::string grant;
    const FollowedRegion* region;
    size_t place;
    bool is_active = true;    // it used the GPU recently
    bool is_measured = true;  // it was charged recently: its region says what runs
  };
  using Gpus = std::map<std::string, std::vector<Container>>;  // by UUID

  // Reads the requests of each GPU's containers, and continues what has begun. Returns the time
  // until the next call. `now`: ns of the monotonic clock.
  Duration Step(uint64_t now, const Gpus& gpus);

  // Whether the containers of any GPU are held.
  bool is_busy() const { return is_busy_; }

  static constexpr Duration kIdle{100};
  static constexpr Duration kBusy{5};

 private:
  enum class Phase { kNone, kDraining, kAlone };
  struct Gpu {
    Phase phase = Phase::kNone;
    std::string grant;   // of the container with the measured kernel
    uint64_t takes = 0;  // ns: a run of the kernel next to others
    uint64_t began = 0;  // ns of the monotonic clock, like those below
    uint64_t from = 0;
    uint64_t until = 0;
    uint64_t next = 0;   // no calibration before then
    int64_t credit = 0;  // ns for which containers may be held, at credit_at
    uint64_t credit_at = 0;
    std::map<std::string, uint64_t> measured;  // by grant: when its kernel was last measured
  };
  static void Begin(Gpu& gpu, const std::vector<Container>& containers, uint64_t now);
  static void Drain(Gpu& gpu, const std::vector<Container>& containers, uint64_t now);
  static void Await(Gpu& gpu, const std::vector<Container>& containers, uint64_t now);
  static void End(Gpu& gpu, const std::vector<Container>& containers, uint64_t now);
  static void Hold(const Gpu& gpu, const std::vector<Container>& containers, uint64_t until);

  std::map<std::string, Gpu> gpus_;
  bool is_busy_ = false;
};

}  // namespace tessera
