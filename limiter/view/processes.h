// SPDX-License-Identifier: Apache-2.0
// The container's processes in its region, by the container's ids; no other container's. Any
// thread.
#pragma once

#include <cstdint>

namespace tessera::limiter {

struct ProcessView {
  uint32_t pid;
  uint64_t bytes;  // held on the device
  uint32_t busy;   // percent of the device's time
  bool operator==(const ProcessView&) const = default;
};

// True if the region lists the processes of the accounting's device at that place: it is limited,
// and this process has joined.
bool KnowsProcesses(int place);

// The processes that hold memory of it, up to `room`. Returns their number.
uint32_t ProcessesOf(int place, ProcessView* processes, uint32_t room);

}  // namespace tessera::limiter
