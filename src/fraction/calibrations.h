// SPDX-License-Identifier: Apache-2.0
// Moments in which one container's kernel is measured while nothing else runs on the GPU
// (limiter/time/calibration.h): the container asks in its region, all containers of the GPU are
// held, and once nothing of theirs runs it may launch. They are held for at most a fiftieth of the
// time, whoever asks. If the agent ends in the midst of it, the words that it wrote run out by
// themselves. One thread.
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
  // A container of a GPU. The region outlives the call.
  struct Container {
    std::string grant;
    const FollowedRegion* region;
    size_t place;
    bool is_active = true;    // it had something of the GPU lately
    bool is_measured = true;  // its processes say what they have running
  };
  using Gpus = std::map<std::string, std::vector<Container>>;  // by UUID

  // Looks what each GPU's containers ask for, and goes on with what has begun. How long until the
  // next time. `now`: ns of the monotonic clock.
  Duration Step(uint64_t now, const Gpus& gpus);

  // Containers of some GPU are held.
  bool is_busy() const { return is_busy_; }

  static constexpr Duration kIdle{100};
  static constexpr Duration kBusy{5};

 private:
  enum class Phase { kNone, kDraining, kAlone };
  struct Gpu {
    Phase phase = Phase::kNone;
    std::string grant;   // whose kernel is measured
    uint64_t takes = 0;  // ns: a run of it beside others
    uint64_t began = 0;  // ns of the monotonic clock, as what follows
    uint64_t from = 0;
    uint64_t until = 0;
    uint64_t next = 0;   // not before then
    int64_t credit = 0;  // ns for which containers may be held, by then:
    uint64_t credit_at = 0;
    std::map<std::string, uint64_t> measured;  // when each container last was
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
