// SPDX-License-Identifier: Apache-2.0
// Other containers of the same device. A run that was measured may have waited for theirs, which
// nothing in this container shows but that it took longer than others of its kind. So it is charged
// what such a run takes alone; and what is not charged has to be what the node's agent says that
// others had, or is charged after all. In the region, for all processes; any thread; whoever is
// killed leaves nothing half done.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/contract.h"
#include "limiter/time/costs.h"
#include "limiter/time/samples.h"

namespace tessera::limiter {

// So much may be waiting to be explained: the agent tells late, and by what others were charged.
inline constexpr uint64_t kUnexplained = 200'000'000;  // ns

// A process's own view of a device. Good when it is all zeros.
class Neighbours {
 public:
  // kNone or kNeighbours by the agent's word, if that is of late; else kUnknown.
  Company ReadCompany(const TimeAccounting& accounting, uint64_t now);

 private:
  static constexpr uint64_t kLate = 3'000'000'000;    // ns; older, and the agent is not there
  static constexpr uint64_t kLinger = 1'000'000'000;  // ns; long kernels are told in lumps

  std::atomic<uint64_t> seen_at_;
  std::atomic<uint64_t> seen_;
  std::atomic<uint64_t> last_;  // when others had more than a hundredth of the device
};

// A run that was measured to keep the device busy for so long, and takes `cost` alone.
struct SoloRun {
  uint64_t busy;  // ns, as the others
  uint64_t cost;
  Weight weight{1, 1};
  uint64_t held_up = 0;  // Measurement::held_up
};

// What it is charged: never more than all such runs together were measured.
uint64_t ChargeSoloRun(TimeAccounting* accounting, const SoloRun& run);

// What is left to be charged of what was not, by what others had since the last time.
uint64_t SettleWaited(TimeAccounting* accounting, Company company);

}  // namespace tessera::limiter
