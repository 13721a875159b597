// SPDX-License-Identifier: Apache-2.0
// How a process comes to have a part in the container's region, or to have none: which region,
// which slot, by which limits. Any thread; one of them does it, and the others wait for that.
#pragma once

#include "limiter/accounting/process.h"

namespace tessera::limiter {

// Null: TheLimits().
JoinState JoinBy(const Limits* limits, bool without_locks, Process* process);

// Joins if this process did not.
inline JoinState JoinStateOf(Process* process) {
  if (process == nullptr) [[unlikely]]
    return JoinState::kDenied;
  const JoinState standing = process->standing.load(std::memory_order_acquire);
  if (standing == JoinState::kUnknown) [[unlikely]]
    return JoinBy(nullptr, false, process);
  return standing;
}

inline bool HasAccounting(JoinState standing) {
  return standing == JoinState::kShared || standing == JoinState::kAlone;
}

// The place of a device, taken if nobody named it yet; -1: all are.
int PlaceOf(Region* region, const char* uuid, int places);

}  // namespace tessera::limiter
