// SPDX-License-Identifier: Apache-2.0
// What a kernel that takes long costs, where other containers are always busy. On a card whose
// processes take turns each of its runs takes longer by as much as they had, and none tells of
// that. So one is measured now and then while nothing else runs: launches ask for it in the region,
// and the agent, which holds all containers of the device for that moment, answers there
// (fraction/calibrations.h). Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/contract.h"
#include "limiter/time/costs.h"
#include "limiter/time/samples.h"

namespace tessera::limiter {

// How long this container's launches are to wait yet for a run to be measured; ns.
uint64_t HeldFor(const CalibrationAccounting& accounting, uint64_t now);
// What may be saved up beside what else may, for the container was held lately; ns.
int64_t SavedWhileHeld(const CalibrationAccounting& accounting, uint64_t now, uint32_t percent);

// Says that a launch came of a kernel that is to be calibrated.
void WantCalibration(const Cost& cost, uint64_t now, CalibrationAccounting* accounting);

// Learns from a run that was measured while nothing else ran, if it was. `busy`: of the process.
bool Calibrate(const Measurement& measured, uint64_t busy, uint64_t now,
               CalibrationAccounting* accounting);

// A process's own; good when it is all zeros.
class Calibrator {
 public:
  // Whether a launch may run though others are held, and something is owed. One that is to be
  // calibrated, and comes to its end in the moment, takes it for its process. Of short kernels more
  // may be launched at its beginning, as far as they fill it.
  bool MayPass(const Cost& cost, bool is_to_be_calibrated, uint64_t now,
               CalibrationAccounting* accounting);

 private:
  std::atomic<uint64_t> taken_;   // the last moment that it took
  std::atomic<uint64_t> passed_;  // ns of what was launched in it
};

}  // namespace tessera::limiter
