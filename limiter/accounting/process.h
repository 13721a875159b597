// SPDX-License-Identifier: Apache-2.0
// This process's state as a member of the region. It lies in memory that is zeroed in a forked
// child, however it was forked. So a child never uses its parent's slot.
#pragma once

#include <atomic>
#include <cstdint>

#include "limiter/accounting/file.h"
#include "limiter/accounting/mutex.h"
#include "limiter/contract.h"

namespace tessera::limiter {

enum class JoinState : uint32_t {
  kUnknown,  // has not joined yet
  kFree,     // no limits
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
  uint64_t limit[kMaxDevices];      // bytes, where from_file
  uint64_t most[kMaxDevices];       // bytes, the amount past which the library refuses; 0: never
  uint32_t percent[kMaxDevices];    // of time, where from_file; 0: no limit
  std::atomic<uint64_t> looked_at;  // ticks
  std::atomic<uint64_t> looked_at_time;  // ns
  std::atomic<uint64_t> look_after;      // 100 ms, in ticks
};

// Any thread. Null: no memory.
Process* TheProcess();
// Null as well if this process never called the accounting; makes nothing.
Process* JoinedProcess();

}  // namespace tessera::limiter
