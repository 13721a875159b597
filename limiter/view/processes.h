// SPDX-License-Identifier: Apache-2.0
// The container's processes as its region has them: with the ids that it knows them by, and no
// other container's. Any thread.
#pragma once

#include <cstdint>

namespace tessera::limiter {

struct ProcessView {
  uint32_t pid;
  uint64_t bytes;  // that it holds of the device
  uint32_t busy;   // percent of the device's time
  bool operator==(const ProcessView&) const = default;
};

// Whether the region knows who runs on the accounting' device at that place: it is limited, and
// this process has joined.
bool KnowsProcesses(int place);

// Those that hold something of it, up to `room` of them; how many there are.
uint32_t ProcessesOf(int place, ProcessView* processes, uint32_t room);

}  // namespace tessera::limiter
