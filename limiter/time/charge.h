// SPDX-License-Identifier: Apache-2.0
// What a run that was measured is charged. Other processes of the container may have had the device
// meanwhile, and other containers; what is not charged for that has to be what they had.
#pragma once

#include <cstdint>

#include "limiter/contract.h"
#include "limiter/time/calibration.h"
#include "limiter/time/container_processes.h"
#include "limiter/time/neighbours.h"
#include "limiter/time/own_busy.h"
#include "limiter/time/samples.h"

namespace tessera::limiter {

// All that take longer are measured, where there are other processes in the container.
inline constexpr uint64_t kLongIfShared = 50'000;  // ns

// A process's own view of a device; good when it is all zeros. All but siblings.NoteOwn() is one
// thread's at a time.
struct View {
  Neighbours neighbours;
  ContainerProcesses processes;
  OwnBusy busy;
};

// Of a device in the region.
struct ChargeAccounting {
  TimeAccounting* times;
  CalibrationAccounting* calibration;
};

// ns, and the run is learned from. `is_shared`: there are other processes.
int64_t ChargeOf(const Measurement& measured, bool is_shared, View* view,
                 const ChargeAccounting& accounting, uint64_t now);

}  // namespace tessera::limiter
