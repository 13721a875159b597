// SPDX-License-Identifier: Apache-2.0
// The charge for a measured run. Other processes of the container, or other containers, may have
// had the device during it. Time that is not charged for that reason must match what they had.
#pragma once

#include <cstdint>

#include "limiter/contract.h"
#include "limiter/time/calibration.h"
#include "limiter/time/container_processes.h"
#include "limiter/time/neighbours.h"
#include "limiter/time/own_busy.h"
#include "limiter/time/samples.h"

namespace tessera::limiter {

// ns. If the container has other processes, every longer run is measured.
inline constexpr uint64_t kLongIfShared = 50'000;  // ns

// A process's view of a device; valid when it is all zeros. One thread at a time, except
// processes.NoteOwn().
struct View {
  Neighbours neighbours;
  ContainerProcesses processes;
  OwnBusy busy;
};

// A device's words in the region.
struct ChargeAccounting {
  TimeAccounting* times;
  CalibrationAccounting* calibration;
};

// The charge in ns; also learns from the run. `is_shared`: the container has other processes.
int64_t ChargeOf(const Measurement& measured, bool is_shared, View* view,
                 const ChargeAccounting& accounting, uint64_t now);

}  // namespace tessera::limiter
