// SPDX-License-Identifier: Apache-2.0
// The cost of a long kernel where other containers are always busy. If processes of a card get time
// slices, each run also takes the slices of the others, and no run shows how much. So one run is
// measured now and then while the device runs nothing else. A launch asks for it in the region. The
// agent holds all containers of the device for a moment, and answers there
// (fraction/calibrations.h). Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/contract.h"
#include "limiter/time/costs.h"
#include "limiter/time/samples.h"

namespace tessera::limiter {

// ns for which this container's launches must still wait, while a run is measured.
uint64_t HeldFor(const CalibrationAccounting& accounting, uint64_t now);
// ns that the bucket may save up in addition, because the container was held lately.
int64_t SavedWhileHeld(const CalibrationAccounting& accounting, uint64_t now, uint32_t percent);

// Asks for a calibration of the kernel that is about to be launched.
void WantCalibration(const Cost& cost, uint64_t now, CalibrationAccounting* accounting);

// Learns from a measured run if nothing else ran. `busy`: ns for which this process kept the device
// busy.
bool Calibrate(const Measurement& measured, uint64_t busy, uint64_t now,
               CalibrationAccounting* accounting);

// A process's own; valid when it is all zeros. Any thread.
class Calibrator {
 public:
  // True if a launch may run although others are held and time is owed. A launch to be calibrated
  // that ends within the moment takes the moment for its process. If the kernel is short, more
  // launches of it may follow at the beginning of the moment.
  bool MayPass(const Cost& cost, bool is_to_be_calibrated, uint64_t now,
               CalibrationAccounting* accounting);

 private:
  std::atomic<uint64_t> taken_;   // begin of the last moment that it took
  std::atomic<uint64_t> passed_;  // ns of the launches in it
};

}  // namespace tessera::limiter
