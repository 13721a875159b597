// SPDX-License-Identifier: Apache-2.0
// The other containers on the same device. A measured run may have waited for their runs. This
// container sees only that it took longer than others of its kind, so it is charged the cost of a
// run alone. The uncharged time must match what the agent reports of other containers; the rest is
// charged after all. In the region, for all processes; any thread. A kill leaves no partial change.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/contract.h"
#include "limiter/time/costs.h"
#include "limiter/time/samples.h"

namespace tessera::limiter {

// ns that may stay unexplained: the agent reports late, and by charges.
inline constexpr uint64_t kUnexplained = 200'000'000;  // ns

// A process's view of a device. Valid when it is all zeros.
class Neighbours {
 public:
  // kNone or kNeighbours by the agent's recent report; without one, kUnknown.
  Company ReadCompany(const TimeAccounting& accounting, uint64_t now);

 private:
  static constexpr uint64_t kLate =
      3'000'000'000;  // ns; an older report means that the agent is gone
  static constexpr uint64_t kLinger = 1'000'000'000;  // ns; long kernels are reported in lumps

  std::atomic<uint64_t> seen_at_;
  std::atomic<uint64_t> seen_;
  std::atomic<uint64_t> last_;  // when others had more than a hundredth of the device
};

// A run that was measured to keep the device busy for `busy` ns, and takes `cost` alone.
struct SoloRun {
  uint64_t busy;  // ns, like the others
  uint64_t cost;
  Weight weight{1, 1};
  uint64_t held_up = 0;  // Measurement::held_up
};

// The charge in ns: all such runs together are never charged more than they were measured.
uint64_t ChargeSoloRun(TimeAccounting* accounting, const SoloRun& run);

// The uncharged time that others' use since the last call does not explain; it must be charged now.
uint64_t SettleWaited(TimeAccounting* accounting, Company company);

}  // namespace tessera::limiter
