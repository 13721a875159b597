// SPDX-License-Identifier: Apache-2.0
// What this process knows of its part in the region. It lies in memory that a forked child finds
// zeroed, so that a child never takes its parent's slot for its own, however it was made.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/accounting/file.h"
#include "limiter/accounting/mutex.h"
#include "limiter/contract.h"

namespace tessera::limiter {

enum class JoinState : uint32_t {
  kUnknown,  // did not join yet
  kFree,     // nothing is limited
  kShared,   // has a slot of the container's region
  kAlone,    // has a region to itself
  kDenied,   // gets no memory
};

struct Process {
  std::atomic<JoinState> standing;
  Mutex joining;
  Trouble trouble;
  bool without_locks;
  bool from_file;  // limits are this process's own, not the region's words
  int slot;
  Region* region;
  uint64_t identity;
  FileIdentity file;
  const Limits* limits;
  uint64_t limit[kMaxDevices];           // bytes, where from_file
  uint64_t most[kMaxDevices];            // likewise, past which is refused; 0: nothing is
  uint32_t percent[kMaxDevices];         // of time, likewise; 0: no limit
  std::atomic<uint64_t> looked_at;       // ticks
  std::atomic<uint64_t> looked_at_time;  // ns
  std::atomic<uint64_t> look_after;      // ticks that are 100 ms
};

// Null: there is no memory.
Process* TheProcess();
// Null as well if nothing was ever asked of the accounting here: nothing is made for it.
Process* JoinedProcess();

}  // namespace tessera::limiter
